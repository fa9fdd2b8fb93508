# The service for a container platform. Give it MODE, DATABASE_URL, MASTER_KEY_FILE and PUBLIC_URL; see .env.example and
# deploy/compose.yaml.
#
# The Node that runs the service comes from package-lock.json, compared with its hash. The base image brings the C library and
# npm for the first stage. A tag can be moved, so record its digest when you review it, and build with that:
#   docker buildx imagetools inspect node:24.21.0-trixie-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg BASE=node:24.21.0-trixie-slim@<that digest> .
ARG BASE=node:24.21.0-trixie-slim
FROM ${BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY bin bin
# Exactly the lockfile, each package compared with its hash; .npmrc keeps scripts of packages from running. The tools of developers
# have builds for platforms that the lockfile does not name, which npm ci would refuse.
RUN npm pkg delete devDependencies && npm ci --omit=dev --no-audit --no-fund && node bin/run.mjs --install-only

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
# As npm start: by itself V8 gives young objects up to 130 MB, and marks garbage with four threads (decision 59).
ENV NODE_OPTIONS="--max-semi-space-size=16 --v8-pool-size=1"
# The service installs nothing.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn*
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY docs docs
COPY migrations migrations
COPY sdk sdk
COPY simulators simulators
COPY src src
RUN mkdir /data && chown node:node /data
# Nothing outside /data and /tmp is written: run it with --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges.
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=30s CMD ["node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Without the launcher: nothing is installed here, and signals reach the process itself.
CMD ["node_modules/.bin/node", "src/cli.ts", "serve"]
