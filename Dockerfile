# The harness as a container: tini is pid 1, because Node cannot reap what it did not start, and `harness` its one child.
#
#   docker build -t IMAGE .            podman build --format docker -t IMAGE .       buildah bud --format docker -t IMAGE .
#
# (The format `oci`, podman's default, has no health check.) Bases with apt-get, Node 20.19 or later and npm: Debian's,
# Ubuntu's and their slim kin. Others end the build with a word. Nothing but the package registries is asked.
#
# A tag can be moved. To hold a build to bytes, name the base by its digest:
#   docker pull node:24.21.0-trixie-slim && docker inspect --format '{{index .RepoDigests 0}}' node:24.21.0-trixie-slim
#   docker build --build-arg BASE_IMAGE=node@sha256:… .
ARG BASE_IMAGE=node:24.21.0-trixie-slim

FROM ${BASE_IMAGE} AS system
# bubblewrap       the boundary, where the engine lets it make namespaces
# ca-certificates  authorities for what runs inside and is allowed a host: git, curl
# git              what agents work with; the harness itself starts none
# tini             pid 1: passes signals on and reaps
# (prlimit and mkfifo are in util-linux and coreutils, which Debian and Ubuntu always have.)
RUN for program in apt-get node npm; do \
      command -v "$program" >/dev/null || { echo "the base has no $program: this Dockerfile wants a Debian or Ubuntu with Node" >&2; exit 1; }; \
    done \
 && apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/log/apt /var/log/*.log
# Uid 1000 is `node` in Node's own images and `ubuntu` in Ubuntu's. Whoever else it is started as (--user, OpenShift's numbers, which
# are in no database) has a home all the same: as in /tmp, everyone may make what is his alone. Nothing in a boundary may write there.
RUN getent passwd 1000 >/dev/null || useradd --uid 1000 --user-group --no-create-home --home-dir /home/harness harness \
 && install -d -m 1777 -o 1000 -g 0 /home/harness && install -d -m 0775 -o 1000 -g 0 /workspace

# The package as it is published, with the dependencies that the lockfile names, and no scripts of theirs.
FROM ${BASE_IMAGE} AS package
WORKDIR /source
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node integration/scripts/build.mjs --package && npm pack --silent --ignore-scripts --pack-destination /tmp
WORKDIR /opt/b10x-harness
RUN tar -xzf /tmp/b10x-harness-*.tgz --strip-components=1 --no-same-owner \
 && cp /source/package-lock.json . \
 && npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
# What manuals, other systems, debuggers and the compilers of node-pty read.
 && rm -rf package-lock.json dist/man node_modules/node-pty/third_party node_modules/node-pty/src node_modules/node-pty/scripts \
 && find node_modules/node-pty/prebuilds -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p process.arch)" -exec rm -r {} + \
 && find . -name '*.map' -delete

FROM system AS bill
COPY --from=package /opt/b10x-harness /opt/b10x-harness
COPY integration/containers/bill.mjs /tmp/
ARG SOURCE_DATE_EPOCH
RUN node /tmp/bill.mjs /opt/b10x-harness >/bill.json

FROM system
COPY --from=package /opt/b10x-harness /opt/b10x-harness
COPY --from=bill /bill.json /usr/share/sbom/b10x-harness.cdx.json
RUN ln -s /opt/b10x-harness/dist/bin/harness.cjs /usr/local/bin/harness \
 && ln -s /opt/b10x-harness/dist/bin/hookcheck.cjs /usr/local/bin/hookcheck
ENV HOME=/home/harness
# Whether a boundary can still be had and /tmp be written: 0.5 s of processor time. All that doctor tries costs 2 s, most of it to
# reach a limit, and says nothing more about a container that was healthy before. Docker knows 0 and 1 alone.
HEALTHCHECK --interval=2m --timeout=30s --start-period=10s --retries=2 CMD harness doctor --quick --json || exit 1
# Facts alone: what a build is not told stays empty.
ARG VERSION=0.1.0
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="b10x-harness" \
      org.opencontainers.image.description="A sandbox-first process supervisor for AI agents, and the agent harness that runs on it" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
# By number: Kubernetes (runAsNonRoot) cannot tell who a name is.
USER 1000:1000
WORKDIR /workspace
# -s: also where pid 1 is another (docker run --init, a shared pid namespace).
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "harness"]
CMD ["--help"]
