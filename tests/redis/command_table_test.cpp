// command_table_test.cpp - the table of commands against what a real server lists and does.
#include "redis/command_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "redis/refusal.hpp"
#include "redis/support/plain_client.hpp"
#include "redis/support/redis_server.hpp"

namespace {

using weft::detail::redis::command_kind;
using weft::detail::redis::has_subcommands;
using weft::detail::redis::kind_of;
using weft::test::plain_client;
using weft::test::plain_reply;
using weft::test::redis_server;
using words = std::vector<std::string>;

std::string in_capitals(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return text;
}

/// A directory that goes with the test: SAVE and its like write there.
class scratch {
public:
    scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weft-redis-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no directory to write to");
        path_ = pattern;
    }
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

/// Every command and "command|subcommand" of this server, in capitals.
words listed(const redis_server& server) {
    plain_client c(server.port());
    words names;
    for (const auto& name : c.ask({"COMMAND", "LIST"}).elements) names.push_back(in_capitals(name.text));
    return names;
}

/// Which of several possible calls of a command is made.
struct choice {
    bool optional_too;
    std::size_t alternative;
};

bool has_flag(const plain_reply& argument, std::string_view flag) {
    const auto* const flags = argument.at("flags");
    if (!flags) return false;
    for (const auto& f : flags->elements)
        if (f.text == flag) return true;
    return false;
}

/// Words that fit what the server's documentation says of a command's arguments.
void add_plausible(words& to, const plain_reply& arguments, const std::string& group, choice c);

void add_plausible_one(words& to, const plain_reply& argument, const std::string& group, choice c) {
    if (has_flag(argument, "optional") && !c.optional_too) return;
    const std::string type = argument.at("type")->text;
    if (const auto* const token = argument.at("token"); token && !token->text.empty()) to.push_back(token->text);
    const auto* const parts = argument.at("arguments");
    if (type == "oneof") return add_plausible_one(to, parts->elements.at(c.alternative % parts->elements.size()), group, c);
    if (type == "block") return add_plausible(to, *parts, group, c);
    if (type == "pure-token") return;
    if (type == "integer" || type == "unix-time") return to.push_back("1");
    if (type == "double") return to.push_back("1.5");
    if (type == "pattern") return to.push_back("*");
    if (type == "key") return to.push_back("key of " + group);
    to.push_back(argument.at("name")->text == "host" ? "127.0.0.1" : "text");  // no name that somebody has to look up
}

void add_plausible(words& to, const plain_reply& arguments, const std::string& group, choice c) {
    for (const auto& argument : arguments.elements) add_plausible_one(to, argument, group, c);
}

words name_of(const std::string& listed) {
    const auto bar = listed.find('|');
    if (bar == std::string::npos) return {listed};
    return {listed.substr(0, bar), listed.substr(bar + 1)};
}

const plain_reply* documentation(const plain_reply& docs, const std::string& listed) {
    if (docs.elements.size() < 2) return nullptr;
    const plain_reply* const command = &docs.elements[1];
    if (listed.find('|') == std::string::npos) return command;
    const auto* const subcommands = command->at("subcommands");
    for (std::size_t i = 0; subcommands && i + 1 < subcommands->elements.size(); i += 2)
        if (in_capitals(subcommands->elements[i].text) == listed) return &subcommands->elements[i + 1];
    return nullptr;
}

/// The command without arguments, and with several that fit.
std::vector<words> calls_of(plain_client& c, const std::string& listed) {
    std::vector<words> calls{name_of(listed)};
    const auto docs = c.ask({"COMMAND", "DOCS", name_of(listed)[0]});
    const auto* const doc = documentation(docs, listed);
    const auto* const arguments = doc ? doc->at("arguments") : nullptr;
    if (!arguments) return calls;
    const auto* const group = doc->at("group");
    for (const choice which : {choice{false, 0}, choice{false, 1}, choice{true, 0}, choice{true, 1}, choice{true, 2}}) {
        words call = name_of(listed);
        add_plausible(call, *arguments, group ? group->text : "", which);
        calls.push_back(std::move(call));
    }
    return calls;
}

std::string shown(const words& call) {
    std::string text;
    for (const auto& w : call) text += w + " ";
    return text;
}

/// What of CLIENT INFO a later command depends on.
std::string state_in(const plain_reply& info) {
    std::string state;
    for (const char* field : {" name=", " flags=", " db=", " sub=", " psub=", " ssub=", " multi=", " user=", " redir=", " resp="})
        if (const auto at = info.text.find(field); at != std::string::npos)
            state += info.text.substr(at, info.text.find(' ', at + 1) - at);
    return state;
}

bool may_be_sent(const words& call) {
    const std::vector<weft::redis::argument> spelled(call.begin(), call.end());
    return weft::detail::redis::command_rules().refusal(spelled).empty();
}

/// On a connection of its own: one reply, and what comes after is answered as before.
void expect_one_reply(std::uint16_t port, const words& call) {
    SCOPED_TRACE(shown(call));
    plain_client c(port);
    for (const words& sent : {words{"CLIENT", "INFO"}, call, words{"CLIENT", "INFO"}, words{"ECHO", "the end"}}) c.send(sent);
    const auto before = state_in(c.reply());
    static_cast<void>(c.reply());
    EXPECT_EQ(state_in(c.reply()), before);
    const auto last = c.reply();
    EXPECT_EQ(last.text, "the end");
    EXPECT_EQ(last.type, '$');
}

/// Returns how many calls were made.
int expect_one_reply_of_each(const redis_server& server, std::string_view beginning) {
    plain_client control(server.port());
    int calls = 0;
    for (const auto& name : listed(server)) {
        if (!name.starts_with(beginning) || kind_of(name) != command_kind::single) continue;
        for (const auto& call : calls_of(control, name)) {
            if (!may_be_sent(call)) continue;  // XREAD BLOCK
            expect_one_reply(server.port(), call);
            ++calls;
        }
        if (name == "REPLICAOF" || name == "SLAVEOF") control.ask({"REPLICAOF", "NO", "ONE"});
    }
    return calls;
}

TEST(redis_command_table, COMMAND_TABLE_1_every_command_that_the_server_lists_is_classified) {
    const redis_server server;
    const auto names = listed(server);
    EXPECT_GT(names.size(), 300u);
    for (const auto& name : names) {
        EXPECT_TRUE(kind_of(name)) << name << " is in no list of command_table.cpp";
        const auto bar = name.find('|');
        EXPECT_TRUE(bar == std::string::npos || has_subcommands(name.substr(0, bar + 1))) << name;
    }
}

TEST(redis_command_table, COMMAND_TABLE_2_each_command_called_single_answers_exactly_once) {
    const scratch here;
    const redis_server server({"--dir", here.path()});
    EXPECT_GT(expect_one_reply_of_each(server, ""), 1'000);
}

TEST(redis_command_table, COMMAND_TABLE_2_so_does_each_of_CLUSTER_in_a_cluster) {
    const scratch here;
    const std::string bus = std::to_string(weft::test::free_port());  // its default, 10,000 above the other, may be somebody's
    const redis_server server({"--dir", here.path(), "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-config-file",
                               here.path() + "/nodes.conf"});
    EXPECT_GT(expect_one_reply_of_each(server, "CLUSTER"), 100);
}

}  // namespace
