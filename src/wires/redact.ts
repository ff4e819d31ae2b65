/** Keeps credentials out of messages: endpoints like to repeat what they were sent. Pure. */

/** Shorter values are no secrets, and taking them out would leave no message. */
const SECRET_CHARS_MIN = 4
/** A cut can leave the beginning of a secret; less than this of it tells nothing. */
const PREFIX_CHARS_MIN = 8

/** A function that replaces every secret in a text, also one that a cut (`…` or the end) left without its tail. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter(secret => secret.length >= SECRET_CHARS_MIN).sort((a, b) => b.length - a.length)
  return text => known.reduce((left, secret) => redactCut(left.replaceAll(secret, '[redacted]'), secret), text)
}

function redactCut(text: string, secret: string): string {
  return text
    .split('…')
    .map(piece => withoutPrefixOf(secret, piece))
    .join('…')
}

function withoutPrefixOf(secret: string, piece: string): string {
  for (let length = secret.length - 1; length >= PREFIX_CHARS_MIN; length--) {
    if (piece.endsWith(secret.slice(0, length))) return `${piece.slice(0, -length)}[redacted]`
  }
  return piece
}
