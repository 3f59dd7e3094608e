%% crowds.erl - very many processes: empty ones, ones that all wait, ones that sleep.
-module(crowds).
-export([spawns/1, peak_as_spawned/1, peak_of_batch/1, parked/1, timers/1, join/1]).

%% Returns when there are no more processes than before. The system counts them anyway.
until_alone(Before) ->
    case erlang:system_info(process_count) > Before of
        true -> erlang:yield(), until_alone(Before);
        false -> ok
    end.

as_spawned(N) ->
    Before = erlang:system_info(process_count),
    as_spawned(0, N),
    until_alone(Before).
as_spawned(N, N) -> ok;
as_spawned(I, N) ->
    spawn(fun() -> ok end),
    I rem 256 =:= 255 andalso erlang:yield(),
    as_spawned(I + 1, N).

batch(N) ->
    Before = erlang:system_info(process_count),
    spawn_empty(N),
    until_alone(Before).
spawn_empty(0) -> ok;
spawn_empty(N) -> spawn(fun() -> ok end), spawn_empty(N - 1).

spawns({_, N} = R) ->
    weft_peer:measure(R, "run-as-spawned", N, "ns", fun() -> weft_peer:nanoseconds(fun() -> as_spawned(N) end) / N end),
    weft_peer:measure(R, "batch", N, "ns", fun() -> weft_peer:nanoseconds(fun() -> batch(N) end) / N end).

%% A line of /proc/self/status, in bytes.
memory(Name) ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [Kib]} = re:run(Text, "^" ++ Name ++ ":\\s+(\\d+)", [multiline, {capture, all_but_first, list}]),
    1024 * list_to_integer(Kib).

peak_as_spawned(R) -> peak(R, "run-as-spawned/peak-memory", fun as_spawned/1).
peak_of_batch(R) -> peak(R, "batch/peak-memory", fun batch/1).
peak({_, N} = R, Variant, Crowd) ->
    weft_peer:measure(R, Variant, N, "KiB", fun() -> Crowd(N), memory("VmHWM") / 1024 end).

%% Starts Work() N times and returns when all have ended.
join(Works) ->
    Monitors = [element(2, spawn_monitor(Work)) || Work <- Works],
    [receive {'DOWN', M, process, _, Reason} -> normal = Reason end || M <- Monitors],
    ok.

%% There is no event for many: the waker sends to each.
parked({_, N} = R) ->
    Labels = [{"memory", N, "B"}, {"memory-and-page-tables", N, "B"}, {"park", N, "ns"}, {"wake", N, "ns"}, {"park-and-wake", N, "ns"}],
    weft_peer:measure(R, Labels, fun() ->
        {Resident, Tables} = {memory("VmRSS"), memory("VmPTE")},
        Before = erlang:system_info(process_count),
        Arrived = counters:new(1, []),
        Begin = erlang:monotonic_time(nanosecond),
        All = [spawn(fun() -> counters:add(Arrived, 1, 1), receive go -> ok end end) || _ <- lists:seq(1, N)],
        until_arrived(Arrived, N),
        Park = erlang:monotonic_time(nanosecond) - Begin,
        {Held, Mapped} = {memory("VmRSS") - Resident, memory("VmPTE") - Tables},
        Wake = weft_peer:nanoseconds(fun() -> [P ! go || P <- All], until_alone(Before) end),
        [Figure / N || Figure <- [Held, Held + Mapped, Park, Wake, Park + Wake]]
    end).

until_arrived(Arrived, N) ->
    case counters:get(Arrived, 1) < N of
        true -> erlang:yield(), until_arrived(Arrived, N);
        false -> ok
    end.

%% An hour or two: it never passes meanwhile, and falls anywhere among those that are pending.
far() -> 3600000 + rand:uniform(3600000).

timers({_, N} = R) ->
    Pending = [erlang:send_after(far(), self(), late) || _ <- lists:seq(1, N)],
    weft_peer:measure(R, "insert-and-cancel", N, "ns", fun() -> weft_peer:nanoseconds(fun() -> come_and_go(N) end) / N end),
    [erlang:cancel_timer(T) || T <- Pending],
    Fired = max(N div 10, 1),
    weft_peer:measure(R, "fire", Fired, "%", fun() -> firing(Fired) end).

come_and_go(0) -> ok;
come_and_go(N) -> erlang:cancel_timer(erlang:send_after(far(), self(), late)), come_and_go(N - 1).

cpu_ms() -> element(1, erlang:statistics(runtime)).

%% Percent of one CPU while N sleeps of as many processes end; sleeps are counted in milliseconds here.
firing(N) ->
    {Length, Begin} = {N / 100, erlang:monotonic_time(millisecond) + 20 + 3 * N div 1000},
    Before = erlang:system_info(process_count),
    [spawn(fun() -> sleep_until(Begin + round(Length * I / N)) end) || I <- lists:seq(0, N - 1)],
    sleep_until(Begin),
    {Used, Since} = {cpu_ms(), erlang:monotonic_time(microsecond)},
    sleep_until(Begin + ceil(Length)),
    Percent = 100000 * (cpu_ms() - Used) / (erlang:monotonic_time(microsecond) - Since),
    until_alone(Before),
    Percent.

sleep_until(When) -> timer:sleep(max(When - erlang:monotonic_time(millisecond), 0)).
