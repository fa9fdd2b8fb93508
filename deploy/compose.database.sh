#!/bin/sh
# Runs once, when Patroni has made the cluster of compose.cluster.yaml.
set -eu
psql --set=ON_ERROR_STOP=1 "$1" --command='create database simbi'
