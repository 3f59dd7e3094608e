// bench_command_test.cpp - `weft bench` as its user meets it: the list, the table, the files, and what it says to wrong words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/support/finished.hpp"
#include "tools/support/scratch.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using weft::test::finished;
using weft::test::lines_of;
using weft::test::run_program;
using weft::test::run_weft;
using weft::test::scratch;
using weft::test::text_of;
using weft::test::write_text;

finished bench(std::vector<std::string> words) {
    words.insert(words.begin(), "bench");
    return run_weft(std::move(words));
}

TEST(bench_command, list_names_each_benchmark_on_a_line_of_its_own) {
    const auto weft = bench({"list"});
    EXPECT_EQ(weft.code, 0);
    std::vector<std::string> names;
    for (const auto& line : lines_of(weft.output)) {
        names.push_back(line.substr(0, line.find(' ')));
        EXPECT_GT(line.size(), names.back().size() + 10) << "it says what it measures";
    }
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("switch", "spawn", "parked", "ring", "skynet", "forkjoin", "fibonacci", "feed",
                                              "mutex", "channel", "timers", "choice", "preempt", "http", "users", "hooks"));
}

void expect_one_line_and_2(const std::vector<std::string>& words, const char* part) {
    const auto weft = bench(words);
    EXPECT_EQ(weft.code, 2) << part;
    EXPECT_THAT(weft.errors, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(weft.errors, '\n'), 1) << weft.errors;
    EXPECT_TRUE(weft.errors.starts_with("weft: ")) << weft.errors;
    EXPECT_EQ(weft.output, "");
}

TEST(bench_command, wrong_words_give_one_line_and_2) {
    expect_one_line_and_2({}, "NAME is required");
    expect_one_line_and_2({"bogus"}, "switch, spawn, parked, ring");
    expect_one_line_and_2({"switch", "bogus"}, "no benchmark named bogus");
    expect_one_line_and_2({"switch", "--bogus"}, "--bogus");
    for (const char* const count : {"-5", "0", "many", "1.5", "1e3", "99999999999999999999"})
        expect_one_line_and_2({"switch", "--n", count}, "range 1 to");
    for (const char* const count : {"-1", "0", "many", "1.5", "100000"})
        expect_one_line_and_2({"switch", "--runs", count}, "range 1 to 10000");
    for (const char* const count : {"-1", "0", "many", "1,0", "1,x", "99999"})
        expect_one_line_and_2({"switch", "--workers", count}, "range 1 to 1024");
    expect_one_line_and_2({"forkjoin", "--n", "41"}, "1 to 40");
    for (const char* const kind : {"", "hog", "loop,hog", "Loop"})
        expect_one_line_and_2({"preempt", "--kinds", kind},
                              "recursion,loop,library,malloc,lock,weft-lock,memcpy,regex,exceptions,bursts,sleep,flock");
    for (const char* const count : {"-1", "0", "many", "1,0", "257"})
        expect_one_line_and_2({"preempt", "--hogs", count}, "range 1 to 256");
    expect_one_line_and_2({"switch", "--hogs", "1"}, "--hogs is an option of preempt");
    expect_one_line_and_2({"preempt", "--full"}, "--full is an option of feed");
    expect_one_line_and_2({"feed", "--ways", "spoons"}, "threads/yield,coroutines,coroutines/ring,fibers/yield,fibers/every-256");
    expect_one_line_and_2({"switch", "ring", "--kinds", "loop"}, "--kinds is an option of preempt");
    expect_one_line_and_2({"switch", "--n"}, "--n");
}

TEST(bench_command, seed_R3_R16_help_names_the_kinds_of_hogs) {
    const auto weft = bench({"preempt", "--help"});
    EXPECT_EQ(weft.code, 0);
    for (const char* const kind : {"recursion", "loop", "library", "malloc", "lock", "weft-lock", "memcpy", "regex", "exceptions",
                                   "bursts", "sleep", "flock"})
        EXPECT_THAT(weft.output, HasSubstr("\n  " + std::string(kind) + "  "));
}

TEST(bench_command, places_that_cannot_be_written_give_one_line_and_2) {
    const scratch place;
    write_text(place / "file", "kept");
    expect_one_line_and_2({"switch", "--json", "/proc/no/such"}, "/proc/no/such");
    expect_one_line_and_2({"switch", "--json", place.path()}, "directory");
    expect_one_line_and_2({"switch", "--json", ""}, "--json");
    expect_one_line_and_2({"switch", "--plot", ""}, "--plot");
    expect_one_line_and_2({"switch", "--json", place / "no/such/file"}, "no/such/file");
    for (const auto& folder : {std::string("/proc/no"), place / "file", place / "file/below"})
        expect_one_line_and_2({"switch", "--plot", folder}, "--plot");
}

TEST(bench_command, nothing_is_written_when_another_word_is_wrong) {
    const scratch place;
    write_text(place / "old", "kept");
    expect_one_line_and_2({"switch", "--json", place / "old", "--n", "-1"}, "--n");
    expect_one_line_and_2({"bogus", "--json", place / "old"}, "bogus");
    expect_one_line_and_2({"bogus", "--json", place / "new"}, "bogus");
    expect_one_line_and_2({"switch", "--json", place / "new", "--plot", "/proc/no"}, "--plot");
    expect_one_line_and_2({"switch", "--json", "/proc/no/such", "--plot", place / "plots"}, "--");
    EXPECT_EQ(text_of(place / "old"), "kept");
    EXPECT_FALSE(fs::exists(place / "new"));
    EXPECT_FALSE(fs::exists(place / "plots"));
}

TEST(bench_command, json_to_a_file_leaves_the_table_to_people) {
    const scratch place;
    write_text(place / "results.jsonl", "what an earlier run left");
    const auto weft = bench({"skynet", "--n", "10", "--runs", "1", "--workers", "1", "--json", place / "results.jsonl"});
    EXPECT_EQ(weft.code, 0) << weft.errors;
    EXPECT_THAT(weft.output, HasSubstr("fibers/channels"));
    const auto lines = lines_of(text_of(place / "results.jsonl"));
    ASSERT_EQ(lines.size(), 2u);
    for (const auto& line : lines) EXPECT_EQ(nlohmann::json::parse(line)["bench"], "skynet");
}

TEST(bench_command, seed_X2_the_table_names_the_machine_and_stands_beside_the_seed) {
    const auto weft = bench({"spawn", "--n", "100", "--runs", "1", "--workers", "1"});
    EXPECT_EQ(weft.code, 0) << weft.errors;
    const auto lines = lines_of(weft.output);
    ASSERT_GT(lines.size(), 3u);
    EXPECT_THAT(lines[0], testing::ContainsRegex("[0-9]+ CPU.*; Linux .*; (g\\+\\+|clang) [0-9.]+.*; governor [a-z]+"));
    const auto row = [&](const char* variant) {
        const auto found =
            std::ranges::find_if(lines, [&](const auto& line) { return line.starts_with("  " + std::string(variant) + ' '); });
        return found == lines.end() ? std::string() : *found;
    };
    EXPECT_THAT(row("fibers/run-as-spawned"), HasSubstr("780 ns (Go)"));
    EXPECT_THAT(row("fibers/batch/spawn-share"), HasSubstr("77.0 % (Lwan in Cython)"));
    EXPECT_THAT(row("threads/batch"), testing::ContainsRegex("[0-9]$")) << "how many times the figure of the fibers";
}

TEST(bench_command, seed_X1_several_benchmarks_run_with_one_command) {
    const auto weft = bench({"skynet", "switch", "skynet", "--n", "10", "--runs", "1", "--workers", "1", "--json", "-"});
    EXPECT_EQ(weft.code, 0) << weft.errors;
    std::vector<std::string> order;
    for (const auto& line : lines_of(weft.output))
        if (const std::string name = nlohmann::json::parse(line)["bench"]; order.empty() || order.back() != name)
            order.push_back(name);
    EXPECT_THAT(order, testing::ElementsAre("skynet", "switch")) << "in the order named, each once";
}

TEST(bench_command, workers_are_those_asked_for_whatever_the_environment_says) {
    const auto weft = run_program("/usr/bin/env", {"WEFT_WORKERS=3", WEFT_COMMAND, "bench", "fibonacci", "--n", "10", "--runs",
                                                   "1", "--workers", "1,2", "--json", "-"});
    EXPECT_EQ(weft.code, 0) << weft.errors;
    EXPECT_THAT(weft.output,
                testing::AllOf(HasSubstr("\"workers\":1"), HasSubstr("\"workers\":2"), testing::Not(HasSubstr("\"workers\":3"))));
}

TEST(bench_command, preempt_without_preemption_is_refused_as_its_hogs_would_never_end) {
    const auto weft = run_program("/usr/bin/env", {"WEFT_TIME_SLICE_US=0", WEFT_COMMAND, "bench", "preempt", "--n", "10"});
    EXPECT_EQ(weft.code, 2);
    EXPECT_THAT(weft.errors, HasSubstr("weft: preempt: WEFT_TIME_SLICE_US=0 turns preemption off"));
}

bool has_matplotlib() {
    for (const char* const python : {"python3", "/usr/bin/python3"})
        if (run_program(python, {"-c", "import matplotlib"}).code == 0) return true;
    return false;
}

TEST(bench_command, seed_X1_D14_plots_are_drawn_from_the_results_with_one_command) {
    const scratch place;
    const std::vector<std::string> words{"feed", "--n", "2", "--runs", "1", "--workers", "1", "--plot", place / "new/plots"};
    if (!has_matplotlib()) return expect_one_line_and_2(words, "install python3-matplotlib");
    const auto weft = bench(words);
    EXPECT_EQ(weft.code, 0) << weft.errors;
    for (const char* const nutrients : {"10", "100", "1000", "10000"})
        for (const char* const kind : {".png", ".svg"}) {
            const auto chart = place / ("new/plots/feed-" + std::string(nutrients) + kind);
            EXPECT_TRUE(fs::exists(chart) && fs::file_size(chart) > 1000) << chart;
        }
    const auto csv = lines_of(text_of(place / "new/plots/results.csv"));
    ASSERT_GT(csv.size(), 1u);
    EXPECT_EQ(csv[0], "bench,variant,workers,n,unit,min,median,max,runs");
    EXPECT_THAT(csv[1], testing::StartsWith("feed,threads/nutrients-10,"));
    EXPECT_EQ(csv.size() - 1, lines_of(text_of(place / "new/plots/results.jsonl")).size());
}

TEST(bench_command, seed_R1_lateness_is_drawn_for_each_kind_of_hog) {
    if (!has_matplotlib()) return;   // what is said then is tested above
    const scratch place;
    const auto weft = bench({"preempt", "--n", "10", "--runs", "1", "--workers", "1,2", "--kinds", "loop,flock", "--hogs", "1,3",
                             "--plot", place / "plots"});
    EXPECT_EQ(weft.code, 0) << weft.errors;
    for (const char* const name : {"preempt-loop", "preempt-flock", "preempt-sleepers", "preempt-throughput"})
        for (const char* const kind : {".png", ".svg"}) {
            const auto chart = place / ("plots/" + std::string(name) + kind);
            EXPECT_TRUE(fs::exists(chart) && fs::file_size(chart) > 1000) << chart;
        }
    EXPECT_THAT(text_of(place / "plots/preempt-sleepers.svg"), HasSubstr("fibers/never-preempted/sleepers-beside-fib"));
    const auto drawn = text_of(place / "plots/preempt-loop.svg");
    for (const char* const text : {"(loop)", "fibers, 2w", "threads", "3 hogs", "99 %"}) EXPECT_THAT(drawn, HasSubstr(text));
}

/// The command in a place of its own, with its own share/weft.
class moved_command {
public:
    moved_command() {
        fs::create_directories(place_ / "bin");
        fs::copy_file(WEFT_COMMAND, place_ / "bin/weft");
    }
    void peers(const std::string& script) const {
        write_text(place_ / "share/weft/peers/run", "#!/bin/sh\n" + script);
        fs::permissions(place_ / "share/weft/peers/run", fs::perms::owner_all);
    }
    finished run(std::vector<std::string> words) const { return run_program(place_ / "bin/weft", std::move(words)); }

private:
    scratch place_;
};

const std::vector<std::string> small_with_peers{"bench",     "skynet", "--n",     "10",     "--runs", "1",
                                                "--workers", "1,2",    "--peers", "--json", "-"};

TEST(bench_command, seed_X2_peers_are_found_beside_the_command_and_their_results_join_its_own) {
    const moved_command weft;
    weft.peers(R"sh(
[ "$1 $2 $4 $5" = "skynet --workers --runs 1" ] || exit 1
echo "peers: java is not here" >&2
echo "{\"bench\":\"skynet\",\"variant\":\"go/channels\",\"workers\":$3,\"n\":10,\"unit\":\"ms\",\"min\":1,\"median\":2.5,\"max\":3,\"runs\":1}"
)sh");
    const auto done = weft.run(small_with_peers);
    EXPECT_EQ(done.code, 0) << done.errors;
    EXPECT_EQ(done.errors, "peers: java is not here\npeers: java is not here\n");
    const auto lines = lines_of(done.output);
    EXPECT_EQ(lines.size(), 2u * (2u * 2 + 2)) << "and a speed-up for each";
    EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.find("\"go/channels\"") != line.npos; }), 2);
}

TEST(bench_command, seed_L18_a_row_for_each_number_of_workers_has_the_speed_ups_of_weft_and_of_go) {
    const moved_command weft;
    weft.peers(R"sh(
echo "{\"bench\":\"fibonacci\",\"variant\":\"go/total/math-big\",\"workers\":$3,\"n\":10,\"unit\":\"ms\",\"min\":6,\"median\":$((16 / $3)),\"max\":16,\"runs\":1}"
)sh");
    const auto done = weft.run({"bench", "fibonacci", "--n", "10", "--runs", "1", "--workers", "1,2,4,8,512", "--peers"});
    EXPECT_EQ(done.code, 0) << done.errors;
    std::vector<std::string> rows;
    for (const auto& line : lines_of(done.output))
        if (!rows.empty() || line.starts_with("  workers ")) rows.push_back(line);
    ASSERT_GT(rows.size(), 6u) << done.output;
    for (const char* const variant : {"fibers/total", "fibers/never-preempted/total", "threads/total", "go/total/math-big"})
        EXPECT_THAT(rows[0], HasSubstr(variant));
    EXPECT_THAT(rows[1], testing::ContainsRegex("^  1 .*ms, [0-9.]+x .*16.0 ms, 1.00x$"));
    EXPECT_THAT(rows[3], testing::ContainsRegex("^  4 .*4.00 ms, 4.00x$"));
    EXPECT_THAT(rows[5], testing::StartsWith("  512 "));
    EXPECT_THAT(rows[6],
                testing::MatchesRegex("  There (is 1 CPU|are [0-9]+ CPUs) here: the rows of more workers show what it costs .*"));
}

TEST(bench_command, peers_that_fail_cost_their_own_rows_only) {
    const moved_command weft;
    weft.peers("echo nonsense");
    const auto done = weft.run(small_with_peers);
    EXPECT_EQ(done.code, 0);
    EXPECT_THAT(done.errors, HasSubstr("weft: peers of skynet left out: not a result: nonsense"));
    EXPECT_EQ(lines_of(done.output).size(), 2u * 4) << "weft's, and a speed-up for each";
}

TEST(bench_command, peers_or_plots_that_are_not_installed_are_told_before_anything_runs) {
    const moved_command weft;
    const auto done = weft.run(small_with_peers);
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.errors, testing::MatchesRegex("weft: --peers needs .*share/weft/peers/run, which is not there\n"));
    EXPECT_EQ(done.output, "");
}

}  // namespace
