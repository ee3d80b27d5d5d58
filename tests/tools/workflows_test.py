#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""workflows_test.py: .github/workflows are YAML with the parts that jobs need; their commands name files, subcommands and stages
of ./run, and targets of tests that exist; jobs that one needs exist; values that are used are defined. Issue templates are YAML."""

import pathlib
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: workflows_test: python3-yaml is missing")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGES = [line.split()[0] for line in (ROOT / "tools/stages").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
CASES = re.findall(r"^([a-z |-]+)\)", (ROOT / "run").read_text(encoding="utf-8").split("case $command in", 1)[1], re.M)
SUBCOMMANDS = [name for case in CASES for name in case.split(" | ")]
# what may stand in a command and is made by a step before it
MADE = ("build", "made", "wheels", "quickstart.py")


def values(matrix):
    """The values of each name of a matrix; None for one that a job before it makes."""
    names = {name: list(given) if isinstance(given, list) else None for name, given in matrix.items() if name != "include"}
    for row in matrix.get("include", []):
        for name, value in row.items():
            names.setdefault(name, []).append(value)
    return names


def complaints_of_command(command, known):
    """What in a command does not exist."""
    for value in re.findall(r"\$\{\{ *matrix\.([a-z]+) *\}\}", command):
        if value not in known:
            yield f"matrix.{value} is not defined"
    for word in re.findall(r"(?<![\w/$.-])(?:\./)?([a-z][\w.-]*(?:/[\w.*-]+)+)", command):
        if not word.startswith(MADE) and not (ROOT / word).exists():
            yield f"there is no {word}"
    for name, rest in re.findall(r"\./run ([a-z-]+)([^&|;\n]*)", command):
        if name not in SUBCOMMANDS:
            yield f"./run has no subcommand {name}"
        for stage in rest.split() if name == "test" and "${{" not in rest else []:
            if stage not in STAGES + ["all", "--list"] and not stage.startswith("-"):
                yield f"./run test has no stage {stage}"
    for option in re.findall(r"tools/release (--[a-z-]+)", command):
        if option + ")" not in (ROOT / "tools/release").read_text(encoding="utf-8").replace(" |", ")"):
            yield f"tools/release has no {option}"
    for kind in known.get("kind", []) if "amalgamation_test.sh" in command else []:
        if f"\n{kind}) cc=" not in (ROOT / "tests/amalgamation/amalgamation_test.sh").read_text(encoding="utf-8"):
            yield f"amalgamation_test.sh has no {kind}"
    script = re.sub(r"\$\{\{.*?\}\}", "value", command)
    syntax = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    if syntax.returncode:
        yield syntax.stderr


def complaints(workflow):
    """What is wrong in a workflow."""
    for part in ("name", True, "permissions", "jobs"):  # YAML 1.1 reads the word `on` as True
        if part not in workflow:
            yield f"no {'on' if part is True else part}"
    for name, job in workflow["jobs"].items():
        for part in ("runs-on", "timeout-minutes", "steps"):
            if part not in job and (name, part) != ("stages", "timeout-minutes"):
                yield f"{name}: no {part}"
        for before in [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []):
            if before not in workflow["jobs"]:
                yield f"{name}: there is no job {before}"
        known = values(job.get("strategy", {}).get("matrix", {}))
        for step in job["steps"]:
            if ("run" in step) == ("uses" in step):
                yield f"{name}: a step is either `run` or `uses`: {step}"
            if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]):
                yield f"{name}: not an action of a version: {step['uses']}"
            for complaint in complaints_of_command(step.get("run", ""), known):
                yield f"{name}: {complaint}"


def main():
    wrong = []
    files = sorted((ROOT / ".github").rglob("*.yml"))
    assert [file.name for file in files if file.parent.name == "workflows"] == ["test.yml", "wheels.yml"], files
    for file in files:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.parent.name == "workflows":
            wrong += [f"{file.name}: {one}" for one in complaints(content)]
    # the check itself
    planted = {
        "./run test bogus": "stage bogus",
        "./run bogus": "subcommand bogus",
        "tools/bogus --all": "no tools/bogus",
        "tools/release --bogus 1": "no --bogus",
        "echo ${{ matrix.bogus }}": "matrix.bogus",
        "if true": "syntax error",
    }
    for command, expected in planted.items():
        found = list(complaints_of_command(command, {}))
        assert any(expected in one for one in found), (command, found)
    print("\n".join(wrong) or f"{len(files)} files of .github")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
