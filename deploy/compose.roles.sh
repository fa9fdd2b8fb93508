#!/bin/sh
# Runs once, when the database of compose.yaml is made: the logins of docs/going-live.md, "The database".
set -eu
psql --set=ON_ERROR_STOP=1 \
  --set=owner_password="$(cat /run/secrets/owner-password)" \
  --set=service_password="$(cat /run/secrets/service-password)" <<'SQL'
create role simbi_tenant nologin;
create role simbi_service nologin noinherit bypassrls;
grant simbi_tenant to simbi_service;
create role simbi_owner login password :'owner_password';
create role simbi_app login password :'service_password';
grant simbi_service to simbi_app;
create database simbi owner simbi_owner;
revoke connect on database simbi from public;
grant connect on database simbi to simbi_app;
SQL
