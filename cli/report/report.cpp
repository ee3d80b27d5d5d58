// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath-report [FILE...], as `lath report` calls it: hands files of `lath bench --json` to the
// Python program that draws them (bench/report), in its own environment with pinned packages,
// which --setup makes.
#include "base/output.hpp"
#include "commands.hpp"
#include "companions.hpp"
#include "describe.hpp"
#include "options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace lathcli {

namespace {

namespace fs = std::filesystem;

struct request {
    std::vector<std::string> files;
    std::string output = ".";
    bool setup = false;
};

// Where the program is, and where its environment belongs.
struct places {
    fs::path program, environment;
    fs::path python() const { return environment / "bin" / "python3"; }
    // a copy of the requirements, written when all of them were installed
    fs::path stamp() const { return environment / "installed.txt"; }
    fs::path requirements() const { return program.parent_path() / "requirements.txt"; }
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

fs::path cache_directory() {
    if (auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
        return cache;
    if (auto home = variable("HOME"); !home.empty())
        return fs::path(home) / ".cache";
    throw std::runtime_error("report: neither HOME nor XDG_CACHE_HOME is set");
}

places find_places() {
    std::error_code none;
    fs::path self = fs::read_symlink("/proc/self/exe", none);
    // in bin, or in libexec/lathwork
    fs::path prefix = self.parent_path().parent_path();
    for (const fs::path& each : {prefix, prefix.parent_path()}) {
        fs::path installed = each / LATH_DATA_DIR / "report" / "report.py";
        if (fs::exists(installed, none))
            return {installed, cache_directory() / "lathwork" / "report-venv"};
    }
    fs::path source = fs::path(LATH_SOURCE_DIR) / "bench" / "report" / "report.py";
    if (fs::exists(source, none))
        return {source, fs::path(LATH_SOURCE_DIR) / "build" / "report-venv"};
    throw std::runtime_error("report: " + (prefix / LATH_DATA_DIR / "report").string() +
                             " is missing: the installation is not whole");
}

std::string content(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

[[noreturn]] void replace_by(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "lath: report: %s: %s\n", words[0], std::strerror(errno));
    _exit(127);
}

// Runs a step of the setup; throws when it fails.
void step(const std::vector<std::string>& command) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child < 0)
        throw std::runtime_error(std::string("report: cannot start ") + command[0] + ": " +
                                 std::strerror(errno));
    if (child == 0)
        replace_by(command);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        return;
    std::string line;
    for (const auto& word : command)
        line += " " + word;
    throw std::runtime_error("report: this failed:" + line);
}

void set_up(const places& at) {
    std::error_code none;
    fs::remove(at.stamp(), none);
    step({"python3", "-m", "venv", at.environment.string()});
    step({at.python().string(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
          "--requirement", at.requirements().string()});
    output stamp(at.stamp().string());
    stamp.stream() << content(at.requirements());
    stamp.commit();
    std::printf("packages for lath report: %s\n", at.environment.c_str());
}

int run(request& asked) {
    places at = find_places();
    std::string python = variable("LATH_PYTHON");
    if (asked.setup) {
        if (content(at.stamp()) != content(at.requirements()))
            set_up(at);
        if (asked.files.empty())
            return 0;
    }
    if (asked.files.empty())
        asked.files.emplace_back("lath-bench.json");
    for (const auto& file : asked.files)
        if (access(file.c_str(), R_OK) != 0)
            throw std::runtime_error("cannot read " + file + ": " + std::strerror(errno) +
                                     " (lath bench all --quick writes lath-bench.json)");
    if (python.empty()) {
        if (content(at.stamp()) != content(at.requirements()))
            throw std::runtime_error(
                "report: the Python packages it draws with are not installed yet; run "
                "`lath report --setup` (pip puts them into " +
                at.environment.string() + "), or name an interpreter that has them in LATH_PYTHON");
        python = at.python().string();
    }
    std::vector<std::string> command = {python, at.program.string(), "--output", asked.output,
                                        "--"};
    command.insert(command.end(), asked.files.begin(), asked.files.end());
    check_standard_output();
    replace_by(command);
}

} // namespace

void define_program(CLI::App& app, char**) {
    auto asked = std::make_shared<request>();
    CLI::App* report = &app;
    const companion& self = *find_companion("report");
    report->name("lath report");
    report->description(self.summary);
    add_description(app, self.command);
    report->add_option("files", asked->files, "what lath bench wrote (default lath-bench.json)")
        ->type_name("FILE");
    report
        ->add_option("-o,--output", asked->output,
                     "where to put report.html, report.md and the pictures")
        ->type_name("DIR")
        ->check(file_name())
        ->capture_default_str();
    report->add_flag("--setup", asked->setup,
                     "install the Python packages it draws with, by pip, into their own directory");
    report->callback([asked] {
        if (int code = run(*asked))
            throw CLI::RuntimeError(code);
    });
}

} // namespace lathcli
