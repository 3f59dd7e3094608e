%% hogs.erl - a process that ticks every millisecond beside others that compute, each for as long as the ticks take.
-module(hogs).
-export([preempt/1]).

%% A hog's round takes 10 to 500 us.
kinds() -> [{"recursion", fun() -> fib(20) end}, {"loop", fun() -> loop(100000, 1) end}].

fib(N) when N < 2 -> 1;
fib(N) -> fib(N - 1) + fib(N - 2).

loop(0, X) -> X;
loop(N, X) -> loop(N - 1, (X * 1103515245 + 12345) band 16#7fffffff).

now_us() -> erlang:monotonic_time(microsecond).

compute(Round, Over, End) ->
    Round(),
    counters:get(Over, 1) =:= 0 andalso now_us() < End andalso compute(Round, Over, End).

%% Work() beside K hogs, which stop when it ends or after so many microseconds.
beside(K, Round, Most, Work) ->
    Over = counters:new(1, []),
    Hogs = [element(2, spawn_monitor(fun() -> compute(Round, Over, now_us() + Most) end)) || _ <- lists:seq(1, K)],
    Result = Work(),
    counters:add(Over, 1, 1),
    [receive {'DOWN', H, process, _, Reason} -> normal = Reason end || H <- Hogs],
    Result.

%% The median, the 90th and 99th percentile and the largest of N ticks, in microseconds.
lateness(N) ->
    Begin = now_us(),
    Late = lists:sort([tick(Begin + 1000 * I) || I <- lists:seq(1, N)]),
    [lists:nth(I + 1, Late) || I <- [N div 2, N * 9 div 10, N * 99 div 100, N - 1]].

%% Timers have whole milliseconds here.
tick(Due) ->
    timer:sleep(max((Due - now_us() + 999) div 1000, 0)),
    now_us() - Due.

two_sleep(Ms) ->
    weft_peer:nanoseconds(fun() -> crowds:join([fun() -> timer:sleep(Ms) end || _ <- [1, 2]]) end) / 1.0e6.

preempt({_, N} = R) ->
    [{_, Fib} | _] = kinds(),
    Workers = erlang:system_info(schedulers_online),
    weft_peer:measure(R, "sleepers-beside-fib", N, "ms", fun() -> beside(Workers, Fib, 3000 * N, fun() -> two_sleep(N) end) end),
    [begin
         Labels = [{io_lib:format("~s-~b/~s", [Name, K, Figure]), N, "us"} || Figure <- ["p50", "p90", "p99", "max"]],
         weft_peer:measure(R, Labels, fun() -> beside(K, Round, 1000 * N, fun() -> lateness(N) end) end)
     end || {Name, Round} <- kinds(), K <- [1, 4, 16]].
