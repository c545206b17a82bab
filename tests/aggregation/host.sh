#!/usr/bin/env bash
# Runs a kube-apiserver that can have other API servers behind it, as tests/peers/kube.sh runs one.
#
#   tests/aggregation/host.sh DIR
#
# Its front proxy's certificate is in DIR/proxy. TOOLS and CONTROLLERS as there.
set -euo pipefail

dir=$(mkdir -p "${1:?usage: host.sh DIR}" && cd "$1" && pwd)
proxy=$dir/proxy
mkdir -p "$proxy"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=front-proxy-ca -keyout "$proxy/ca.key" -out "$proxy/ca.crt" 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj /CN=front-proxy-client -keyout "$proxy/client.key" -out "$proxy/client.csr" 2>/dev/null
openssl x509 -req -days 2 -in "$proxy/client.csr" -CA "$proxy/ca.crt" -CAkey "$proxy/ca.key" -CAcreateserial -out "$proxy/client.crt" \
    -extfile <(echo extendedKeyUsage=clientAuth) 2>/dev/null

export KUBE_FLAGS="--requestheader-client-ca-file=$proxy/ca.crt --requestheader-allowed-names=front-proxy-client \
 --requestheader-username-headers=X-Remote-User --requestheader-uid-headers=X-Remote-Uid --requestheader-group-headers=X-Remote-Group \
 --requestheader-extra-headers-prefix=X-Remote-Extra- --proxy-client-cert-file=$proxy/client.crt \
 --proxy-client-key-file=$proxy/client.key --enable-aggregator-routing=true ${KUBE_FLAGS:-}"
exec "$(dirname "$0")/../peers/kube.sh" "$dir"
