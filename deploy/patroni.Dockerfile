# PostgreSQL with Patroni, for compose.cluster.yaml. The base image brings the packages of postgresql.org, whose Patroni is newer than
# the unsafe 3.0.2 of Debian 12; the last line fails if it is not.
ARG BASE=postgres:17.6-bookworm
FROM ${BASE}
RUN apt-get update \
  && apt-get install --yes --no-install-recommends patroni \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=postgres --group=postgres --mode=0700 /var/lib/postgresql/patroni
RUN dpkg --compare-versions "$(dpkg-query --show --showformat='${Version}' patroni)" ge 3.0.3
USER postgres
WORKDIR /var/lib/postgresql
EXPOSE 5432 8008
STOPSIGNAL SIGTERM
ENTRYPOINT ["patroni"]
CMD ["/etc/patroni.yml"]
