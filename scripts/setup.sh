#!/usr/bin/env bash
# Prepares a machine to build and test xir: system packages, then a virtual environment with the pinned Python packages.
# usage: scripts/setup.sh VENV_DIRECTORY         everything
#        scripts/setup.sh VENV_DIRECTORY system  the system packages alone
#        scripts/setup.sh VENV_DIRECTORY tools   a new environment with what compiles xir's C++
#        scripts/setup.sh VENV_DIRECTORY models  what compiles and runs the zoo's models, into an environment of `tools`
#        scripts/setup.sh --clang             Clang alone, which `make fuzz-loader` needs
#        scripts/setup.sh --ssh               an SSH client and server alone, which `make test-ssh` needs
#        scripts/setup.sh --chromium          Chromium and its driver alone, which `make test-explore` needs
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1

# The CPU builds of torch and torchvision. Where this index cannot be reached, pip warns and takes what it has.
torch_index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

say() { printf '\n== %s\n' "$*"; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      command -v "$candidate"
      return
    fi
  done
}

has_command() { command -v "$1" > /dev/null; }
has_header() { echo "#include <$1>" | c++ -E -x c++ - > /dev/null 2>&1; }
python_has() { "$python" -c "$1" 2> /dev/null; }

# Debian's and Ubuntu's name of everything that is not here yet.
missing_packages() {
  has_command c++ || echo g++
  has_command cmake || echo cmake
  has_command ninja || echo ninja-build
  has_command flatc || echo flatbuffers-compiler
  has_header flatbuffers/flatbuffers.h || echo libflatbuffers-dev
  if [[ -z $python ]]; then
    echo python3 python3-venv python3-dev
    return
  fi
  python_has 'import ensurepip, venv' || echo python3-venv
  python_has 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' || echo python3-dev
}

install_system_packages() {
  local as_root=()
  if [[ $EUID -ne 0 ]]; then
    as_root=(sudo -n)
  fi
  if has_command apt-get && "${as_root[@]}" true 2> /dev/null; then
    say "Installing system packages: $*"
    if "${as_root[@]}" apt-get update -qq \
      && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; then
      return
    fi
  fi
  printf 'error: these system packages are missing (Debian and Ubuntu names): %s\n' "$*" >&2
  printf 'Install them, then run the same command again:\n    sudo apt-get install %s\n' "$*" >&2
  exit 1
}

if [[ $venv == --clang ]]; then
  # libFuzzer and Clang's sanitizers are a package of their own, named after Clang's version.
  has_command clang++ || install_system_packages clang
  if [[ ! -e $(clang++ -print-runtime-dir)/libclang_rt.fuzzer-$(uname -m).a ]]; then
    install_system_packages "libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"
  fi
  exit
fi

if [[ $venv == --ssh ]]; then
  if ! { has_command ssh && [[ -x /usr/sbin/sshd ]]; }; then
    install_system_packages openssh-client openssh-server
  fi
  # What a system's start makes: root's server wants it, and containers have no such start.
  if [[ $EUID -eq 0 ]]; then
    mkdir -p /run/sshd
  fi
  exit
fi

if [[ $venv == --chromium ]]; then
  # Debian's names; Ubuntu's packages of these names are snaps, which see no files outside of the home directory.
  if ! { has_command chromium && has_command chromedriver; }; then
    install_system_packages chromium chromium-driver fonts-dejavu-core
  fi
  exit
fi

# The pins of requirements.txt of these packages, a line each.
pins_of() {
  local name
  for name in "$@"; do
    grep -iE "^${name}==" requirements.txt || { echo "error: requirements.txt has no pin of $name" >&2; exit 1; }
  done
}

# Every package is pinned, those that others need as well, so that nothing is left for pip to find out. Python compiles
# what it imports: compiling all of torch's files takes longer than to install them.
install() {
  local pip=("$venv/bin/python" -m pip --disable-pip-version-check install --no-deps --no-compile)
  [[ -t 1 ]] || pip+=(--quiet)
  "${pip[@]}" "$@"
}

install_system() {
  local missing
  python=$(find_python)
  read -ra missing <<< "$(missing_packages | xargs)"
  if [[ ${#missing[@]} -gt 0 ]]; then
    install_system_packages "${missing[@]}"
    python=$(find_python)
  fi
  if [[ -z $python ]]; then
    echo 'error: xir needs Python 3.11 or newer; name one with PYTHON=/path/to/python' >&2
    exit 1
  fi
}

install_tools() {
  local pins
  install_system
  say "Making $venv with $("$python" --version)"
  "$python" -m venv "$venv"
  mapfile -t pins < <(pins_of scikit-build-core pybind11 packaging pathspec)
  install "${pins[@]}"
}

install_models() {
  local pins
  say 'Installing torch and what else compiles models'
  mapfile -t pins < <(pins_of torch torchvision)
  install --retries 1 --extra-index-url "$torch_index" "${pins[@]}"
  mapfile -t pins < <(pins_of xdsl numpy flatbuffers immutabledict ordered-set typing_extensions pillow \
    filelock fsspec Jinja2 MarkupSafe mpmath networkx setuptools sympy)
  install "${pins[@]}"
  mapfile -t pins < <(grep -E '^executorch==' requirements-no-deps.txt)
  install "${pins[@]}"
}

case ${2:-all} in
  system) install_system ;;
  tools) install_tools ;;
  models) install_models ;;
  all)
    [[ -e $venv/bin/python ]] || install_tools
    say 'Installing the pinned packages (a few minutes the first time)'
    install --extra-index-url "$torch_index" --retries 1 -r requirements.txt
    install -r requirements-no-deps.txt
    ;;
  *)
    echo "error: '$2' is none of system, tools, models, all" >&2
    exit 1
    ;;
esac
