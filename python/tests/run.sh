#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh [asan | versions | bench ARGUMENTS]: tests of the Python package, which is installed in build/python, and of what
# the headers of C promise; with sanitizers; with each interpreter from 3.10 on that there is; measurements.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=build/python/bin/python pytest=(-B -m pytest -q -p no:cacheprovider -o console_output_style=classic) code=0

# build [INTERPRETER VENV]: a virtual environment with the package and with what its build and its tests need. The build gets
# no separate environment: that is a new directory each time, so no compiler cache would know its files. The stage packages
# builds a wheel as a user does.
build() {
	local venv=${2-build/python} log
	log=build/logs/${venv##*/}.log
	tools/venv "$venv" "$(grep -v "^$([[ $venv != *t ]] || echo mypy)==" python/tests/requirements.txt && sed -n '/^requires = /p' python/pyproject.toml | grep -oE '"[^"]+"' | tr -d '"')" "${1-python3}"
	if ! "$venv/bin/python" -m pip --disable-pip-version-check install --no-build-isolation ./python >"$log" 2>&1; then
		grep -E 'error|Error' "$log" | head -n 10 >&2 || true
		echo "run: cannot install the Python package (log: $log)" >&2
		exit 1
	fi
}

case ${1-} in
bench)
	build
	exec "$python" -B python/bench.py "${@:2}"
	;;
versions) # in PATH or by pyenv; with a GIL and without
	for version in 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t; do
		found=
		for tried in "$(command -v "python$version")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"${version%t}".*/bin/"python$version"; do
			if [[ -x $tried ]] && "$tried" -c '' 2>/dev/null; then found=$tried; fi
		done
		if [[ ! $found ]]; then
			echo "skipped: python-$version: there is no python$version"
			continue
		fi
		build "$found" "build/python-$version"
		echo "python$version:"
		"build/python-$version/bin/python" "${pytest[@]}" --ignore python/tests/test_upstream.py python/tests || code=$?
	done
	exit "$code"
	;;
asan)
	# The extension module with both sanitizers, under an interpreter that gets each object from malloc. It runs the tests in
	# which other code changes an object in the middle of a call, and the model tests; not the one that asks for memory back,
	# which the sanitizer keeps to find late uses.
	where=$PWD/build/python-asan
	flags='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -O1'
	build
	cmake -G Ninja -S python -B "$where" -DPython_EXECUTABLE="$PWD/$python" -DCMAKE_BUILD_TYPE=None \
		-DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_MODULE_LINKER_FLAGS="$flags"
	cmake --build "$where" --parallel 2
	mkdir -p "$where/package/lathwork"
	cp python/package/lathwork/* "$where"/_core*.so "$where/package/lathwork"
	LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONPATH=$where/package \
		"$python" "${pytest[@]}" --deselect tests/test_sorted.py::test_memory_is_released \
		python/tests/test_{crash,hostile,interval,ranges,sorted,store}.py
	exit
	;;
esac

# about half of the time, so on their own processor
second=(python/tests/test_{hostile,crash,growth,numbers,order,shapes}.py)
build
"$python" "${pytest[@]}" "${second[@]}" >build/logs/python-second.log 2>&1 &
"$python" -B python/tests/fetch_upstream.py build/python-upstream
LATH_PYTHON_UPSTREAM=$PWD/build/python-upstream "$python" "${pytest[@]}" "${second[@]/#/--ignore=}" python/tests || code=$?
wait $! || code=$?
cat build/logs/python-second.log
exit "$code"
