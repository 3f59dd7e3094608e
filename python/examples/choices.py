"""choices.py - a fiber books orders, acknowledges each, and notes when none has come for a while: whichever is possible first."""
import weft


def book(orders, acks, quiet):
    waiting, booked, pauses = [], [], 0
    while True:
        cases = [weft.receive(orders), weft.after(quiet)]
        if waiting:
            cases.append(weft.send(acks, waiting[0]))
        try:
            match weft.select(*cases):
                case 0, order:
                    booked.append(order)
                    waiting.append(f"booked {order}")
                case 1, _:
                    pauses += 1
                case 2, _:
                    waiting.pop(0)
        except weft.Closed:               # of the orders: nobody closes acks
            return booked, pauses


def main():
    orders, acks = weft.Channel(2), weft.Channel(0)
    booking = weft.spawn(book, orders, acks, 0.01)
    for name in ("apples", "figs"):
        orders.send(name)
        print(acks.receive())
    weft.sleep(0.1)                       # nothing comes meanwhile
    orders.close()
    booked, pauses = booking.result()
    print(booked, pauses > 0)


if __name__ == "__main__":
    weft.run(main)
