/** A port whose questions are asked one at a time, by however many sections. */
import { Permits } from './permits.js'

type Asked = (...words: never[]) => Promise<unknown>

/** `port` with `methods` taking turns, in `permits` or in a line of their own. */
export function takingTurns<Port extends object>(
  port: Port,
  methods: readonly (keyof Port & string)[],
  permits: Permits = new Permits(1),
): Port {
  const turned = methods.map(name => {
    const method = port[name] as Asked
    const inTurn: Asked = (...words) => permits.with(() => method.apply(port, words))
    return [name, inTurn] as const
  })
  return Object.assign(Object.create(port) as Port, Object.fromEntries(turned))
}
