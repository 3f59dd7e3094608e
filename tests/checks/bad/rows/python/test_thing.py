class TestThing:
    async def test_seed_D4_holds(self):
        pass

    def test_seed_L77_is_no_row(self):   # BAD
        pass


def seed_L78_is_no_test():
    pass
