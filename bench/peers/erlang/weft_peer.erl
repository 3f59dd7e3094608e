%% weft_peer.erl - arguments, repetitions, and the lines that `run` reads: main BENCH WORKERS RUNS N.
-module(weft_peer).
-export([main/1, measure/3, measure/5, nanoseconds/1]).

main([Bench, _Workers | Numbers]) ->
    [Runs, N] = [list_to_integer(Text) || Text <- Numbers],
    {_, Failure} = spawn_monitor(fun() -> (benchmark(Bench))({Runs, N}) end),
    receive
        {'DOWN', Failure, process, _, normal} -> halt(0);
        {'DOWN', Failure, process, _, Reason} ->
            io:format(standard_error, "erlang peer: ~p~n", [Reason]),
            halt(1)
    end.

benchmark("switch") -> fun turns:switches/1;
benchmark("ring") -> fun turns:ring/1;
benchmark("feed") -> fun turns:feed/1;
benchmark("channel") -> fun turns:mailboxes/1;
benchmark("spawn") -> fun crowds:spawns/1;
benchmark("peak-memory/run-as-spawned") -> fun crowds:peak_as_spawned/1;
benchmark("peak-memory/batch") -> fun crowds:peak_of_batch/1;
benchmark("parked") -> fun crowds:parked/1;
benchmark("timers") -> fun crowds:timers/1;
benchmark("preempt") -> fun hogs:preempt/1;
benchmark("skynet") -> fun trees:skynet/1;
benchmark("forkjoin") -> fun trees:forkjoin/1;
benchmark("fibonacci") -> fun trees:fibonacci/1.

%% Calls Once to warm up and then for each run; without runs, a single time. It returns a figure for each label.
measure({Runs, _}, Labels, Once) ->
    Runs > 0 andalso Once(),
    Figures = [Once() || _ <- lists:seq(1, max(Runs, 1))],
    lists:foldl(fun({Variant, N, Unit}, Left) ->
                    io:format("~s ~b ~s~s~n", [Variant, N, Unit, [io_lib:format(" ~.4f", [float(hd(F))]) || F <- Left]]),
                    [tl(F) || F <- Left]
                end, Figures, Labels).

measure(Request, Variant, N, Unit, Once) -> measure(Request, [{Variant, N, Unit}], fun() -> [Once()] end).

nanoseconds(Work) ->
    Begin = erlang:monotonic_time(nanosecond),
    Work(),
    erlang:monotonic_time(nanosecond) - Begin.
