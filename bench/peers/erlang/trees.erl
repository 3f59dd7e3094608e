%% trees.erl - processes that start others: skynet, the forking Fibonacci function; and big numbers on all schedulers.
-module(trees).
-export([skynet/1, forkjoin/1, fibonacci/1]).

children() -> 10.

%% The leaves [First, First + Count).
parts(First, Count) ->
    Bound = fun(I) -> Count * I div children() end,
    [{First + Bound(I), Bound(I + 1) - Bound(I)} || I <- lists:seq(0, children() - 1), Bound(I + 1) > Bound(I)].

tree(Up, First, 1) -> Up ! {sum, First};
tree(Up, First, Count) ->
    Me = self(),
    Started = [spawn(fun() -> tree(Me, F, C) end) || {F, C} <- parts(First, Count)],
    Up ! {sum, lists:sum([receive {sum, S} -> S end || _ <- Started])}.

skynet({_, N} = R) ->
    weft_peer:measure(R, "messages", N, "ms", fun() ->
        Me = self(),
        Sum = N * (N - 1) div 2,
        weft_peer:nanoseconds(fun() -> spawn(fun() -> tree(Me, 0, N) end), receive {sum, Sum} -> ok end end) / 1.0e6
    end).

fib(N) when N < 2 -> N;
fib(N) ->
    Me = self(),
    Left = make_ref(),
    spawn(fun() -> Me ! {Left, fib(N - 1)} end),
    Right = fib(N - 2),
    receive {Left, Value} -> Value + Right end.

by_calls(N) when N < 2 -> N;
by_calls(N) -> by_calls(N - 1) + by_calls(N - 2).

forkjoin({_, N} = R) ->
    Forks = max(by_calls(N + 1) - 1, 1),
    Right = by_calls(N),
    weft_peer:measure(R, "spawn-and-receive", N, "ns", fun() -> weft_peer:nanoseconds(fun() -> Right = fib(N) end) / Forks end).

nth_fibonacci(0, A, _) -> A;
nth_fibonacci(N, A, B) -> nth_fibonacci(N - 1, B, A + B).

fibonacci({_, N} = R) ->
    Pieces = lists:duplicate(64, fun() -> true = nth_fibonacci(N, 0, 1) >= 0 end),
    weft_peer:measure(R, "total/integers", N, "ms", fun() -> weft_peer:nanoseconds(fun() -> crowds:join(Pieces) end) / 1.0e6 end).
