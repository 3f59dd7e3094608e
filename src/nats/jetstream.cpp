// jetstream.cpp - requests with JSON to the subjects of JetStream.
#include <weft/nats/jetstream.hpp>

#include <array>
#include <charconv>

#include <weft/deadline.hpp>

#include "nats/json.hpp"
#include "nats/link.hpp"

namespace weft::nats {

using detail::nats::member;
using detail::nats::parse_object;
using nlohmann::json;

namespace {

constexpr std::array<unsigned, 3> least_version{2, 12, 3};  // docs/design/nats.md

/// Missing parts count as 0, and what follows the third number is ignored.
std::array<unsigned, 3> version_of(std::string_view text) noexcept {
    std::array<unsigned, 3> v{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (auto& part : v) {
        const auto [stop, bad] = std::from_chars(at, end, part);
        if (bad != std::errc{}) break;
        at = stop;
        if (at == end || *at != '.') break;
        ++at;
    }
    return v;
}

/// A name is one token of a subject.
void check_name(std::string_view name) {
    detail::nats::check_subject(name);
    if (name.find_first_of(".*>/\\") != std::string_view::npos)
        throw error(nats_errc::bad_subject, "nats: the name '" + std::string(name) + "' has a dot, a wildcard or a slash");
}

json checked(std::string_view text) {
    auto answer = parse_object(text, "an answer of JetStream");
    if (const auto failed = answer.find("error"); failed != answer.end() && failed->is_object())
        throw error(nats_errc::jetstream_error, "nats: JetStream: " + member<std::string>(*failed, "description") + " (" +
                                                    std::to_string(member<std::int64_t>(*failed, "err_code")) + ")");
    return answer;
}

std::string spelled(const stream_config& c) {
    return json{{"name", c.name},
                {"subjects", c.subjects},
                {"storage", c.in_memory ? "memory" : "file"},
                {"num_replicas", c.replicas},
                {"retention", c.retention},
                {"discard", c.discard},
                {"max_msgs", c.most_messages},
                {"max_bytes", c.most_bytes},
                {"max_age", c.most_age.count()},
                {"duplicate_window", c.duplicate_window.count()},
                {"max_consumers", -1}}
        .dump(-1, ' ', false, json::error_handler_t::replace);
}

stream_state state_in(std::string_view text) {
    const auto answer = checked(text);
    stream_state s;
    if (const auto c = answer.find("config"); c != answer.end() && c->is_object()) s.name = member<std::string>(*c, "name");
    if (const auto n = answer.find("state"); n != answer.end() && n->is_object()) {
        s.messages = member<std::uint64_t>(*n, "messages");
        s.bytes = member<std::uint64_t>(*n, "bytes");
        s.first_sequence = member<std::uint64_t>(*n, "first_seq");
        s.last_sequence = member<std::uint64_t>(*n, "last_seq");
        s.consumers = member<std::size_t>(*n, "consumer_count");
    }
    return s;
}

/// The configuration in an answer about a stream, with all that the server has in it.
json config_in(std::string_view text) {
    const auto answer = checked(text);
    const auto c = answer.find("config");
    if (c == answer.end() || !c->is_object())
        throw error(nats_errc::protocol_error, "nats: JetStream's answer has no configuration");
    return *c;
}

}  // namespace

jetstream::jetstream(client& of, jetstream_options options)
    : client_(&of),
      options_(std::move(options)),
      prefix_(options_.domain.empty() ? "$JS.API." : "$JS." + options_.domain + ".API.") {
    if (!options_.domain.empty()) check_name(options_.domain);
    if (client_->server().version.empty()) client_->flush(options_.limit);
    check_version();
}

/// Before each call: the client may have come to another server.
void jetstream::check_version() {
    const auto version = client_->server().version;
    if (version_of(version) < least_version)
        throw error(nats_errc::server_too_old, "nats: JetStream needs nats-server 2.12.3 or later, this is " + version);
}

std::string jetstream::call(const std::string& subject, const std::string& text) {
    check_version();
    return client_->request(prefix_ + subject, text, options_.limit).payload;
}

publish_ack jetstream::publish(std::string_view subject, std::string_view payload, const js_publish_options& how) {
    check_version();
    auto fields = how.headers;
    if (!how.id.empty()) fields.add("Nats-Msg-Id", how.id);
    if (!how.expected_stream.empty()) fields.add("Nats-Expected-Stream", how.expected_stream);
    if (!how.expected_last_id.empty()) fields.add("Nats-Expected-Last-Msg-Id", how.expected_last_id);
    if (how.expected_last_sequence) fields.add("Nats-Expected-Last-Sequence", std::to_string(*how.expected_last_sequence));
    if (how.expected_last_subject_sequence)
        fields.add("Nats-Expected-Last-Subject-Sequence", std::to_string(*how.expected_last_subject_sequence));
    const auto answer = checked(client_->request(subject, payload, options_.limit, {.headers = std::move(fields)}).payload);
    return {member<std::string>(answer, "stream"), member<std::uint64_t>(answer, "seq"), member<bool>(answer, "duplicate")};
}

stream_state jetstream::add_stream(const stream_config& c) {
    check_name(c.name);
    return state_in(call("STREAM.CREATE." + c.name, spelled(c)));
}
stream_state jetstream::update_stream(const stream_config& c) {
    check_name(c.name);
    return state_in(call("STREAM.UPDATE." + c.name, spelled(c)));
}
stream_state jetstream::change_limits(std::string_view name, const stream_limits& to) {
    check_name(name);
    const auto text = call("STREAM.INFO." + std::string(name), "");
    const auto was = config_in(text);
    auto config = was;
    config["max_msgs"] = to.most_messages;
    config["max_bytes"] = to.most_bytes;
    config["duplicate_window"] = to.duplicate_window.count();
    if (config == was) return state_in(text);
    return state_in(call("STREAM.UPDATE." + std::string(name), config.dump(-1, ' ', false, json::error_handler_t::replace)));
}
stream_config jetstream::stream_configuration(std::string_view name) {
    check_name(name);
    const auto c = config_in(call("STREAM.INFO." + std::string(name), ""));
    stream_config all{.name = member<std::string>(c, "name"),
                      .in_memory = member<std::string>(c, "storage") == "memory",
                      .replicas = member<unsigned>(c, "num_replicas", 1),
                      .retention = member<std::string>(c, "retention"),
                      .discard = member<std::string>(c, "discard"),
                      .most_messages = member<std::int64_t>(c, "max_msgs", -1),
                      .most_bytes = member<std::int64_t>(c, "max_bytes", -1),
                      .most_age = std::chrono::nanoseconds(member<std::int64_t>(c, "max_age")),
                      .duplicate_window = std::chrono::nanoseconds(member<std::int64_t>(c, "duplicate_window"))};
    if (const auto subjects = c.find("subjects"); subjects != c.end() && subjects->is_array())
        for (const auto& s : *subjects)
            if (s.is_string()) all.subjects.push_back(s.get<std::string>());
    return all;
}
stream_state jetstream::stream_info(std::string_view name) {
    check_name(name);
    return state_in(call("STREAM.INFO." + std::string(name), ""));
}
void jetstream::delete_stream(std::string_view name) {
    check_name(name);
    checked(call("STREAM.DELETE." + std::string(name), ""));
}

void jetstream::add_consumer(std::string_view stream, const consumer_config& c) {
    check_name(stream);
    check_name(c.name);
    json config{{"durable_name", c.name},         {"ack_policy", "explicit"},         {"deliver_policy", "all"},
                {"ack_wait", c.ack_wait.count()}, {"max_deliver", c.most_deliveries}, {"max_ack_pending", c.most_unacknowledged}};
    if (!c.filter.empty()) config["filter_subject"] = c.filter;
    const json all{{"stream_name", stream}, {"config", config}};
    checked(call("CONSUMER.DURABLE.CREATE." + std::string(stream) + "." + c.name,
                 all.dump(-1, ' ', false, json::error_handler_t::replace)));
}
std::optional<consumer_config> jetstream::consumer_configuration(std::string_view stream, std::string_view name) {
    check_name(stream);
    check_name(name);
    const auto text = call("CONSUMER.INFO." + std::string(stream) + "." + std::string(name), "");
    constexpr std::int64_t consumer_not_found = 10014;
    const auto answer = parse_object(text, "an answer of JetStream");
    if (const auto failed = answer.find("error"); failed != answer.end() && failed->is_object())
        if (member<std::int64_t>(*failed, "err_code") == consumer_not_found) return std::nullopt;
    const auto c = config_in(text);
    return consumer_config{.name = member<std::string>(c, "durable_name"),
                           .filter = member<std::string>(c, "filter_subject"),
                           .ack_wait = std::chrono::nanoseconds(member<std::int64_t>(c, "ack_wait")),
                           .most_deliveries = member<std::int64_t>(c, "max_deliver", -1),
                           .most_unacknowledged = member<std::int64_t>(c, "max_ack_pending", -1)};
}
void jetstream::delete_consumer(std::string_view stream, std::string_view name) {
    check_name(stream);
    check_name(name);
    checked(call("CONSUMER.DELETE." + std::string(stream) + "." + std::string(name), ""));
}

std::vector<delivery> jetstream::pull(std::string_view stream, std::string_view consumer, const pull_options& how) {
    check_name(stream);
    check_name(consumer);
    check_version();
    const auto inbox = client_->new_inbox();
    const auto answers = client_->subscribe(inbox, {.capacity = how.batch + 1});
    const auto expires = how.no_wait ? std::chrono::nanoseconds::zero() : how.expires;
    json asked{{"batch", how.batch}};
    if (how.no_wait)
        asked["no_wait"] = true;
    else
        asked["expires"] = expires.count();
    client_->publish(prefix_ + "CONSUMER.MSG.NEXT." + std::string(stream) + "." + std::string(consumer), asked.dump(),
                     {.reply = inbox});
    std::vector<delivery> all;
    // The server says when the time is over; the limit is for one that has gone.
    const auto until = std::chrono::steady_clock::now() + expires + how.limit.value_or(options_.limit);
    while (all.size() < how.batch) {
        message m;
        if (answers.receive_until(m, until) != channel_op::done) break;
        const auto status = m.status();
        if (status == 503 && m.payload.empty())
            throw no_responders("the consumer " + std::string(consumer) + " of " + std::string(stream));
        if (status == 404 || status == 408) break;  // there is nothing, or nothing more in time
        if (status == 100) continue;                // the server is alive
        if (status == 409 && !all.empty()) break;
        if (status != 0) throw error(nats_errc::jetstream_error, "nats: JetStream: " + std::string(m.headers.get("Description")));
        all.push_back(client_->delivered(std::move(m), options_.limit));
    }
    return all;
}

/// $JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<delivered>.<stream seq>.<consumer
/// seq>.<time>.<pending>[.<token>]
delivery_info delivery::info() const {
    std::vector<std::string_view> tokens;
    std::string_view rest = message_.reply;
    for (std::size_t dot; (dot = rest.find('.')) != std::string_view::npos; rest.remove_prefix(dot + 1))
        tokens.push_back(rest.substr(0, dot));
    tokens.push_back(rest);
    const bool is_long = tokens.size() >= 11;
    if ((tokens.size() != 9 && !is_long) || !message_.reply.starts_with("$JS.ACK."))
        throw error(nats_errc::protocol_error, "nats: '" + message_.reply + "' is no reply subject of JetStream");
    const std::size_t first = is_long ? 4 : 2;
    const auto number = [&](std::size_t i) {
        std::uint64_t n = 0;
        std::from_chars(tokens[first + i].data(), tokens[first + i].data() + tokens[first + i].size(), n);
        return n;
    };
    delivery_info d;
    d.stream = tokens[first];
    d.consumer = tokens[first + 1];
    d.delivered = number(2);
    d.stream_sequence = number(3);
    d.consumer_sequence = number(4);
    d.time = std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(number(5)));
    d.pending = number(6);
    return d;
}

void delivery::say(std::string_view word) { link_->publish(message_.reply, word, {}, detail::nats::at_full::park); }
void delivery::ack() { say("+ACK"); }
void delivery::ack_sure() { static_cast<void>(link_->request(message_.reply, "+ACK", limit_, {})); }
void delivery::in_progress() { say("+WPI"); }
void delivery::term() { say("+TERM"); }
void delivery::nak(std::chrono::nanoseconds delay) {
    say(delay > std::chrono::nanoseconds::zero() ? "-NAK {\"delay\":" + std::to_string(delay.count()) + "}" : "-NAK");
}

}  // namespace weft::nats
