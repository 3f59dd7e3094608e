// rest.cpp - what planted.cpp calls elsewhere, to make a program of it.
#include <cerrno>

extern "C" {
int may_fail(int n) {
    if (n > 1'000) errno = EAGAIN;
    return n > 1'000 ? -1 : n;
}
void may_throw() {
    if (may_fail(2'000) < 0) throw 1;
}
}

int main() { return may_fail(0); }
