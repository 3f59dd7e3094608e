%% turns.erl - control and values that change hands: yields, the ring, people who are fed in turn, mailboxes.
-module(turns).
-export([switches/1, ring/1, feed/1, mailboxes/1]).

yields(0) -> ok;
yields(Times) -> erlang:yield(), yields(Times - 1).

switches({_, N} = R) ->
    Half = max(N div 2, 1),
    weft_peer:measure(R, "yield", N, "ns", fun() ->
        weft_peer:nanoseconds(fun() -> crowds:join([fun() -> yields(Half) end, fun() -> yields(Half) end]) end) / N
    end).

members() -> 503.

%% Sends are asynchronous: a member's mailbox is the channel before it.
ring({_, N} = R) ->
    weft_peer:measure(R, "messages", N, "ns", fun() -> weft_peer:nanoseconds(fun() -> around(N) end) / N end).

around(Hops) ->
    First = spawn_link(fun() -> receive {next, Next} -> member(Next) end end),
    Second = lists:foldl(fun(_, Next) -> spawn(fun() -> member(Next) end) end, First, lists:seq(2, members())),
    Watch = monitor(process, First),
    First ! {next, Second},
    First ! Hops,
    receive {'DOWN', Watch, process, _, normal} -> ok end.

member(Next) ->
    receive
        Number when is_integer(Number), Number > 0 -> Next ! Number - 1, member(Next);
        _ -> Next ! the_end   % goes around; whoever was first to end does not read it
    end.

feed({_, N} = R) ->
    [feed(R, N, Nutrients) || Nutrients <- [10, 100, 1000, 10000]].
feed(R, N, Nutrients) ->
    Suffix = "nutrients-" ++ integer_to_list(Nutrients),
    Person = fun() -> {Nutrients, Nutrients, Nutrients} = eat({0, 0, 0}, Nutrients) end,
    weft_peer:measure(R, [{"yield/" ++ Suffix, N, "us"}, {"yield/round-trip/" ++ Suffix, N, "ns"}], fun() ->
        Time = weft_peer:nanoseconds(fun() -> crowds:join(lists:duplicate(N, Person)) end),
        [Time / 1000, Time / N / Nutrients]
    end).

eat({Needed, Needed, Needed} = Eaten, Needed) -> Eaten;
eat({Fiber, Calcium, Iron}, Needed) -> erlang:yield(), eat({Fiber + 1, Calcium + 1, Iron + 1}, Needed).

mailboxes({_, N} = R) ->
    Shapes = [{"one-to-one", 1}, {"many-to-one", 8}],
    [weft_peer:measure(R, Name ++ "/mailbox", N, "ns", fun() -> pass(N, Senders) end) || {Name, Senders} <- Shapes].

pass(N, Senders) ->
    Each = N div Senders + 1,
    Time = weft_peer:nanoseconds(fun() ->
        {Receiver, Watch} = spawn_monitor(fun() -> receive_all(Each * Senders) end),
        crowds:join(lists:duplicate(Senders, fun() -> send_all(Receiver, Each) end)),
        receive {'DOWN', Watch, process, _, normal} -> ok end
    end),
    Time / (Each * Senders).

send_all(_, 0) -> ok;
send_all(To, Left) -> To ! Left, send_all(To, Left - 1).
receive_all(0) -> ok;
receive_all(Left) -> receive _ -> receive_all(Left - 1) end.
