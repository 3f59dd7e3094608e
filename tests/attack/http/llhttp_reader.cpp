// llhttp_reader.cpp - requests as llhttp reads them, the parser of Node.js, strict as it is by default.
#include <llhttp.h>

#include "attack/http/messages.hpp"

namespace weft::attack {
namespace {

struct reader {
    llhttp_t parser{};
    messages read;
    message now;
    bool in_name = false;
    bool in_trailers = false;

    static reader& of(llhttp_t* p) { return *static_cast<reader*>(p->data); }
};

int on_begin(llhttp_t* p) {
    reader::of(p).now = {};
    reader::of(p).in_name = reader::of(p).in_trailers = false;
    return 0;
}

int on_url(llhttp_t* p, const char* at, std::size_t n) {
    reader::of(p).now.target.append(at, n);
    return 0;
}

/// A name or a value may come in pieces; only whole names are announced.
int on_field(llhttp_t* p, const char* at, std::size_t n) {
    reader& r = reader::of(p);
    if (r.in_trailers) return 0;
    if (!r.in_name) r.now.fields.emplace_back();
    r.in_name = true;
    r.now.fields.back().first.append(at, n);
    return 0;
}

int on_field_complete(llhttp_t* p) {
    reader::of(p).in_name = false;
    return 0;
}

int on_value(llhttp_t* p, const char* at, std::size_t n) {
    reader& r = reader::of(p);
    if (!r.in_trailers) r.now.fields.back().second.append(at, n);
    return 0;
}

int on_head(llhttp_t* p) {
    reader& r = reader::of(p);
    r.in_trailers = true;
    r.now.method = llhttp_method_name(static_cast<llhttp_method_t>(llhttp_get_method(p)));
    if (r.now.method != "CONNECT") p->upgrade = 0;  // as a server that declines
    return 0;
}

int on_body(llhttp_t* p, const char* at, std::size_t n) {
    reader::of(p).now.body.append(at, n);
    return 0;
}

int on_complete(llhttp_t* p) {
    reader::of(p).read.push_back(std::move(reader::of(p).now));
    return 0;
}

}  // namespace

messages read_by_llhttp(std::string_view bytes) {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_message_begin = on_begin;
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_field_complete = on_field_complete;
    settings.on_header_value = on_value;
    settings.on_headers_complete = on_head;
    settings.on_body = on_body;
    settings.on_message_complete = on_complete;
    reader r;
    llhttp_init(&r.parser, HTTP_REQUEST, &settings);
    r.parser.data = &r;
    static_cast<void>(llhttp_execute(&r.parser, bytes.data(), bytes.size()));  // an error ends it: what was read whole counts
    return std::move(r.read);
}

}  // namespace weft::attack
