// protobuf.hpp - messages that protoc has generated, written as Protocol Buffers do.
//
// It needs Google's library (libprotobuf-dev), which the program links. Fields that are added to a message are
// read by old programs, which ignore them, and are absent in what old programs have written; a new version in
// WEFT_WIRE is needed only where that is not enough. The library prints a line for a text that is no UTF-8;
// google::protobuf::SetLogHandler() of a program that has strangers for peers silences it.
#pragma once

#include <weft/detail/requirements.hpp>

#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include <weft/cluster/detail/unreadable.hpp>
#include <weft/cluster/wire.hpp>

namespace weft::cluster {

template <std::derived_from<google::protobuf::MessageLite> T>
struct wire_format<T> {
    /// \throws std::invalid_argument if a required field (of proto2) is not set, or the message takes 2 GiB
    static void write(const T& value, std::uint32_t /*version*/, std::vector<std::byte>& into) {
        if (!value.IsInitialized())
            throw std::invalid_argument("weft: " + value.GetTypeName() + " lacks " + value.InitializationErrorString());
        const auto before = into.size(), size = value.ByteSizeLong();
        if (size > INT_MAX) throw std::invalid_argument("weft: " + value.GetTypeName() + " takes more than 2 GiB");
        into.resize(before + size);
        value.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(into.data() + before));
    }
    static T read(std::span<const std::byte> bytes, std::uint32_t /*version*/) {
        // Shorter than 2 GiB, since a transport takes far less.
        google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
        in.SetRecursionLimit(64);  // as the other formats; a fiber's stack holds many times as many
        T value;
        if (!value.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage())
            detail::refuse_bytes("Protocol Buffers cannot read it, or it lacks a field that is required");
        return value;
    }
};

}  // namespace weft::cluster
