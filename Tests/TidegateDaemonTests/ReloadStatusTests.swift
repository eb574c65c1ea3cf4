import Foundation
import Logging
import Testing
import Tidegate
import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon
@testable import TidegateServer

@Suite struct ReloadStatusTests {
    private let bus = EventBus(time: SystemClock())
    private let received = RecordingSink()

    init() { self.bus.attach(self.received) }

    private var reported: [Bool] {
        self.received.events.compactMap { event in
            if case .daemon(.configurationLoaded(let isGood)) = event.payload { isGood } else { nil }
        }
    }

    @Test("The last word is about both files: a good one does not hide that the other is still bad")
    func both() {
        let status = ReloadStatus(bus: self.bus)
        status.record(.web, isGood: false)
        #expect(self.reported == [false])
        status.record(.configuration, isGood: true)
        #expect(self.reported == [false, true, false])
        status.record(.web, isGood: true)
        #expect(self.reported == [false, true, false, true])
    }

    @Test(
        "A web configuration that turns bad is published like any other, and so is its repair",
        .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func web() async throws {
        let folder = try await WebFolder()
        try folder.write("rate_limit: {interval: 1s, burst: 2}\n")
        let clocks = SystemClock()
        let web = try WebService(path: folder.file, at: clocks.wall())
        let source = web.source(
            time: clocks, status: ReloadStatus(bus: self.bus),
            logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() })
        try folder.write("rate_limit: {interval: soon}\n")
        _ = source.currentPolicy()
        #expect(self.reported == [false])
        try folder.write("rate_limit: {interval: 1s, burst: 3}\n")
        _ = source.currentPolicy()
        #expect(self.reported == [false, true])
    }
}
