# The harness as a container entry point: tini is pid 1, because Node cannot reap what it did not start.
# Nested bubblewrap needs options of the engine; inside the container `harness doctor` says which is missing.
ARG BASE_IMAGE=node:20-bookworm-slim
FROM ${BASE_IMAGE} AS build
WORKDIR /src
COPY . .
RUN npm ci && npm pack --ignore-scripts --pack-destination /tmp

FROM ${BASE_IMAGE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap git tini util-linux \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/b10x-harness-*.tgz /tmp/harness.tgz
RUN npm install --global --omit=dev /tmp/harness.tgz && rm /tmp/harness.tgz
# WORKDIR alone leaves the folder to root under the classic builder of Docker.
RUN install -d -o node -g node /workspace
USER node
WORKDIR /workspace
ENTRYPOINT ["/usr/bin/tini", "--", "harness"]
CMD ["--help"]
