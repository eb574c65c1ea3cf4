import Testing
import Tidegate

@testable import TidegateCLI

@Suite struct SilenceWatchTests {
    @Test(
        "A transfer without a byte for a second is reported, once in 15 s; one whose bytes move, or that waits, is not")
    func silence() {
        let silent = Samples.info(.running(attempt: 1), TransferProgress(attempt: 1))
        let reported = Self.reported([(0, [silent]), (0.9, [silent]), (1, [silent]), (15.9, [silent]), (16, [silent])])
        #expect(reported == [1, 16])
    }

    @Test("Bytes, another attempt and a wait begin the time anew")
    func movement() {
        let progress = TransferProgress(receivedWire: 1, sent: 1, attempt: 2)
        let reported = Self.reported([
            (0, [Samples.info(.running(attempt: 1), TransferProgress(attempt: 1))]),
            (1, [Samples.info(.running(attempt: 1), TransferProgress(receivedWire: 1, attempt: 1))]),
            (2, [Samples.info(.running(attempt: 1), TransferProgress(receivedWire: 1, sent: 1, attempt: 1))]),
            (3, [Samples.info(.running(attempt: 2), progress)]),
            (4, [Samples.info(.waiting(.backoff, detail: nil), progress)]),
            (5, [Samples.info(.running(attempt: 2), progress)]), (6, []),
        ])
        #expect(reported.isEmpty)
    }

    @Test("Another transfer's silence is reported five seconds after the last report")
    func another() throws {
        let first = Samples.info(.running(attempt: 1), TransferProgress(attempt: 1))
        var second = first
        second.id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let reported = Self.reported([
            (0, [first]), (1, [first]), (2, [first, second]), (3, [first, second]), (6, [first, second]),
            (7, [first, second]),
        ])
        #expect(reported == [1, 6])
    }

    // When a watch reports silence that is shown these transfers, second by second.
    private static func reported(_ shown: [(second: Double, transfers: [TaskInfo])]) -> [Double] {
        var watch = SilenceWatch()
        return shown.compactMap { second, transfers in
            let moment = MonotonicTime(nanoseconds: UInt64(second * 1e9))
            return watch.shouldDiagnose(transfers, at: moment) ? second : nil
        }
    }
}
