import Testing
import TidegateCore

@Suite struct TimeTests {
    @Test(
        "Wall time prints as RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_795_216_462_123_456, "2026-11-20T23:14:22.123Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_999_000, "2100-02-28T23:59:59.999Z"),
        ] as [(Int64, String)])
    func text(_ microseconds: Int64, _ text: String) {
        #expect(WallTime(microseconds: microseconds).description == text)
    }

    @Test("Monotonic time adds and saturates")
    func arithmetic() {
        let start = MonotonicTime(nanoseconds: 5)
        #expect(start + .nanoseconds(7) == MonotonicTime(nanoseconds: 12))
        #expect(start + .seconds(-1) == MonotonicTime(nanoseconds: 0))
        #expect(MonotonicTime(nanoseconds: .max) + .seconds(1) == MonotonicTime(nanoseconds: .max))
        #expect(MonotonicTime(nanoseconds: 12) - start == .nanoseconds(7))
        #expect(start - MonotonicTime(nanoseconds: 12) == .nanoseconds(-7))
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
    }

    @Test("Task ids sort by creation and read back")
    func taskIDs() throws {
        var generator = SystemRandomNumberGenerator()
        let early = TaskID(at: WallTime(microseconds: 1_700_000_000_000_000), using: &generator)
        let late = TaskID(at: WallTime(microseconds: 1_700_000_000_001_000), using: &generator)
        #expect(early < late)
        #expect(try #require(TaskID(early.description)) == early)
        #expect(Array(early.description)[14] == "7")
        #expect(TaskID("00000000-0000-7000-8000-00000000000") == nil)
        #expect(TaskID("+0000000-0000-7000-8000-000000000000") == nil)
    }
}
