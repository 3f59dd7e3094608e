// loop.hpp - an io_context with a thread of its own.
#pragma once

#include <weft/detail/requirements.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <thread>

namespace weft::asio {

/// Runs an io_context on a thread of its own, for operations with weft::use_fiber:
///
///     weft::asio::loop loop;
///     boost::asio::ip::tcp::socket socket(loop.context());
///     socket.async_connect(server, weft::use_fiber);
///
/// What throws out of a handler ends the program. The destructor stops the context and waits for its thread.
/// As with any io_context, the objects that use it must be destroyed before.
class loop {
public:
    loop() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;
    ~loop() {
        context_.stop();
        thread_.join();
    }

    boost::asio::io_context& context() noexcept { return context_; }

private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::thread thread_;
};

}  // namespace weft::asio
