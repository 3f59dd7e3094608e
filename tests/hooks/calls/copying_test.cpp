// copying_test.cpp - sendfile() and splice(), on a thread and in fibers.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "hooks/calls/row.hpp"

namespace weft::test {
namespace {

/// A file of so many bytes, opened for reading.
int file_of(std::string_view bytes) {
    char path[] = P_tmpdir "/hooked_copies.XXXXXX";
    const int fd = ::mkstemp(path);
    ::unlink(path);
    EXPECT_EQ(::syscall(SYS_write, fd, bytes.data(), bytes.size()), static_cast<long>(bytes.size()));
    ::lseek(fd, 0, SEEK_SET);
    return fd;
}

TEST(hooked_copies, of_a_file_to_a_slow_reader) {
    const std::string sent = much();
    for (const kind k : {kind::tcp, kind::unix_stream, kind::pipe})
        for (const bool with_offset : {false, true})
            expect_alike(in_fiber::park, [&](notes& n) {
                pair_of_descriptors ends(k);
                const std::size_t reader = k == kind::pipe ? 0 : 1, writer = 1 - reader;
                const int file = file_of(sent);
                std::string received;
                off_t offset = 5;
                if (k == kind::pipe) ends.fill(writer);  // else it gets what fits, and no more
                n.later([&] { received = drain(ends[reader]); });
                const auto r = with_offset ? ::sendfile(ends[writer], file, &offset, sent.size())
                                           : ::sendfile64(ends[writer], file, nullptr, sent.size());
                if (k == kind::pipe) {
                    n("a part", r > 0);
                } else {
                    n("sendfile", r);
                    n("offset", offset);
                    n("position", ::lseek(file, 0, SEEK_CUR));
                }
                ends.close(writer);
                n.join();
                if (k != kind::pipe) n.data("received", received);
                ::close(file);
            });
}

TEST(hooked_copies, that_do_not_wait) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const int file = file_of("some bytes"), to = file_of("");
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe), full(kind::pipe);
        n("sendfile", ::sendfile(ends[0], file, nullptr, 4));
        n("to a file", ::sendfile(to, file, nullptr, 100));
        n("at the end", ::sendfile(ends[0], file, nullptr, 100));
        n("none", ::sendfile(ends[0], file, nullptr, 0));
        n("nothing there", ::splice(pipe[0], nullptr, ends[0], nullptr, 10, SPLICE_F_NONBLOCK));
        off64_t offset = 0;
        n("splice", ::splice(file, &offset, pipe[1], nullptr, 100, 0));
        n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
        ::fcntl(full[1], F_SETFL, O_NONBLOCK);
        full.fill(1);
        ::fcntl(full[1], F_SETFL, O_NONBLOCK);
        offset = 0;
        n("full", ::splice(file, &offset, full[1], nullptr, 100, 0));
        n("sendfile", ::sendfile(-1, file, nullptr, 4));
        n("sendfile", ::sendfile(ends[0], -1, nullptr, 4));
        n("sendfile", ::sendfile(ends[0], pipe[0], nullptr, 0));
        n("no pipe", ::splice(file, nullptr, ends[0], nullptr, 10, 0));
        n("splice", ::splice(-1, nullptr, pipe[1], nullptr, 10, 0));
        n("offset of a pipe", ::splice(pipe[0], &offset, ends[0], nullptr, 10, 0));
        n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 0, 0));
        ::close(file);
        ::close(to);
    });
}

TEST(hooked_copies, between_pipes_and_sockets) {
    for (const kind k : {kind::tcp, kind::unix_stream}) {
        expect_alike(in_fiber::park, [&](notes& n) {  // nothing is there yet
            const pair_of_descriptors ends(k), pipe(kind::pipe);
            n.later([&] { ::syscall(SYS_write, ends[1], "some bytes", 10); });
            n("splice", ::splice(ends[0], nullptr, pipe[1], nullptr, 100, 0));
            n.data("it is", drain(pipe[0], 10));
            n.join();
            n.later([&] { ::syscall(SYS_write, pipe[1], "other bytes", 11); });
            n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
            n.data("it is", drain(ends[1], 11));
            n.join();
        });
        expect_alike(in_fiber::park, [&](notes& n) {  // there is no room
            const pair_of_descriptors ends(k), pipe(kind::pipe);
            ends.fill(0);
            ::syscall(SYS_write, pipe[1], "some bytes", 10);
            n.later([&] {
                char room[1 << 16];
                while (::syscall(SYS_recvfrom, ends[1], room, sizeof room, MSG_DONTWAIT, nullptr, nullptr) > 0) continue;
            });
            n("splice", ::splice(pipe[0], nullptr, ends[0], nullptr, 100, 0));
            n.join();
        });
    }
    expect_alike(in_fiber::park, [](notes& n) {
        pair_of_descriptors from(kind::pipe), to(kind::pipe);
        n.later([&] { ::syscall(SYS_write, from[1], "some bytes", 10); });
        n("splice", ::splice(from[0], nullptr, to[1], nullptr, 100, 0));
        n.data("it is", drain(to[0], 10));
        n.join();
        n.later([&] { from.close(1); });
        n("the end", ::splice(from[0], nullptr, to[1], nullptr, 100, 0));
        n.join();
    });
}

}  // namespace
}  // namespace weft::test
