// finished.cpp - output goes to files, which never fill up as pipes do.
#include "tools/support/finished.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <sstream>

namespace weft::test {
namespace {

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string everything(std::FILE* from) {
    std::rewind(from);
    std::string text;
    char piece[4096];
    for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, from)) > 0;) text.append(piece, n);
    return text;
}

}  // namespace

finished run_program(const std::string& program, std::vector<std::string> words) {
    const file out(std::tmpfile(), std::fclose), err(std::tmpfile(), std::fclose);
    words.insert(words.begin(), program);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(::open("/dev/null", O_RDONLY), 0);
        ::dup2(::fileno(out.get()), 1);
        ::dup2(::fileno(err.get()), 2);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), everything(out.get()), everything(err.get())};
}

finished run_weft(std::vector<std::string> words) { return run_program(WEFT_COMMAND, std::move(words)); }

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace weft::test
