// byte_listener.hpp - any source of connections behind one type, chosen at run time.
#pragma once

#include <concepts>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::io {

/// What a byte_listener can hold: it has accept(error), local(), close() and is_open(), which mean
/// what they mean in tcp::listener.
template <class L>
concept full_listener = std::move_constructible<L> && requires(L& l, const L& there, std::error_code& error) {
    { l.accept(error) } -> std::convertible_to<byte_stream>;
    { there.local() } -> std::convertible_to<net::endpoint>;
    l.close();
    { there.is_open() } -> std::convertible_to<bool>;
};

/// Accepts connections of any kind, for a server that is told at run time where they come from:
///
///     weft::io::byte_listener l = weft::tcp::listener({.host = "127.0.0.1", .port = 7000});
///     weft::io::byte_stream peer = l.accept();
///
/// Several fibers and threads may accept at the same time, if the listener inside allows it. An
/// object that was moved from may only be destroyed or assigned to.
class WEFT_EXPORT byte_listener {
public:
    template <class L>
        requires(!std::same_as<std::remove_cvref_t<L>, byte_listener> && !std::is_lvalue_reference_v<L> && full_listener<L>)
    byte_listener(L&& l) : held_(std::make_unique<held<L>>(std::move(l))) {}

    /// Takes the next connection.
    ///
    /// \parks   until a peer connects.
    /// \throws  std::system_error bad_file_descriptor if the listener is or gets closed;
    ///          weft::cancelled.
    byte_stream accept();
    byte_stream accept(std::error_code& error) { return held_->accept(error); }

    /// Where it listens.
    [[nodiscard]] net::endpoint local() const { return held_->local(); }

    /// Wakes accept(). May be called repeatedly, and from any thread.
    void close() noexcept { held_->close(); }
    [[nodiscard]] bool is_open() const noexcept { return held_->is_open(); }

private:
    struct any {
        virtual ~any() = default;
        virtual byte_stream accept(std::error_code& error) = 0;
        [[nodiscard]] virtual net::endpoint local() const = 0;
        virtual void close() noexcept = 0;
        [[nodiscard]] virtual bool is_open() const noexcept = 0;
    };

    template <class L>
    struct held final : any {
        explicit held(L&& l) : listener(std::move(l)) {}
        byte_stream accept(std::error_code& error) override { return listener.accept(error); }
        net::endpoint local() const override { return listener.local(); }
        void close() noexcept override { listener.close(); }
        bool is_open() const noexcept override { return listener.is_open(); }

        L listener;
    };

    std::unique_ptr<any> held_;
};

}  // namespace weft::io
