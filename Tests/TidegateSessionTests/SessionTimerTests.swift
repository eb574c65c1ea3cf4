import Testing
import TidegateCore

@testable import TidegateSession

@Suite
struct SessionTimerTests {
    @Test("A timer's token says what it is for", arguments: [1, 2, 3, 4, 1 << 40] as [UInt64])
    func tokens(number: UInt64) {
        let targets = PathTimer.allCases.map { SessionTimer.target(number, $0) }
        for timer in [.task(number), .disk, .pendingTimers] + targets {
            #expect(SessionTimer(token: timer.token) == timer)
            // The upper half belongs to the engine.
            #expect(timer.token < 1 << 63)
        }
    }
}
