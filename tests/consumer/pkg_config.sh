#!/bin/sh
# Builds and runs one source file against an installed gpusched by its pkg-config file alone.
# Usage: pkg_config.sh COMPILER LIBDIR SOURCE PROGRAM
set -eu
compiler=$1 libdir=$2 source=$3 program=$4
PKG_CONFIG_PATH="$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PKG_CONFIG_PATH
mkdir -p "$(dirname "$program")"
# Unquoted: flags are words.
"$compiler" -std=c++20 "$source" $(pkg-config --cflags --libs 'gpusched >= 0.1') -o "$program"
LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$program"
