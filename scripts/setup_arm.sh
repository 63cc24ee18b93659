#!/usr/bin/env bash
# Gets what `make test-arm` needs beyond the rest: a compiler for 64-bit Arm, an emulator, and the aarch64 wheel that holds
# XNNPACK, which is unpacked.
# usage: scripts/setup_arm.sh PYTHON DIRECTORY
#        scripts/setup_arm.sh --programs      the compiler and the emulator alone, which `make wheel` needs
set -euo pipefail

missing=()
command -v aarch64-linux-gnu-g++ > /dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64 > /dev/null || missing+=(qemu-user)
if [[ ${#missing[@]} -gt 0 ]]; then
  as_root=()
  [[ $EUID -eq 0 ]] || as_root=(sudo -n)
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; then
    printf 'error: these system packages are missing (Debian and Ubuntu names): %s\n' "${missing[*]}" >&2
    exit 1
  fi
fi

if [[ $1 == --programs ]]; then
  exit
fi
python=$1
directory=$2
if [[ ! -e $directory/executorch/lib/libexecutorch_backend_xnnpack.so ]]; then
  mkdir -p "$directory"
  "$python" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary=:all: \
    --platform manylinux_2_28_aarch64 --python-version 312 --implementation cp -d "$directory" executorch==1.5.1
  "$python" -m zipfile -e "$directory"/executorch-*.whl "$directory"
fi
