internal import Foundation
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

/// Monitors as processes of their own: frozen, and side by side.
@Suite(
    .serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need),
    .enabled(if: MonitorProcess.isBuilt, MonitorProcess.need),
    .timeLimit(.minutes(5)))
struct MonitorProcessScenarioTests {
    @Test(
        "A monitor that slept through thousands of changes counts the loss and is right within two seconds",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func frozen() async throws {
        let hosts = try VethPairFixture()
        let monitor = try MonitorProcess(in: hosts.here)
        #expect(await eventually { monitor.says(#""level":"routed""#) })
        monitor.program.signal(SIGSTOP)
        let changes = (0..<8000).map { "link set v0 mtu \(1400 - $0 % 100)" }
        try hosts.here.batch(changes.joined(separator: "\n"))
        try hosts.addSecondLink()
        try hosts.here.batch("route add default via 10.0.1.1 metric 200\nlink set v0 down")
        monitor.program.signal(SIGCONT)
        let isExact = await eventually(within: .seconds(2)) {
            monitor.says(#""interface":"v1""#, #""level":"routed""#, #""isConsistent":true"#)
        }
        #expect(isExact, "\(monitor.last)")
        #expect(!monitor.says(#""overruns":0,"#), "\(monitor.last)")
        try hosts.there.ip("link set p1 down")
        #expect(await eventually { monitor.says(#""level":"none""#, #""reason":"noCarrier""#) }, "\(monitor.last)")
    }

    @Test("Two monitors with the same process number share a network namespace")
    func processNamespaces() async throws {
        let hosts = try VethPairFixture()
        // Each is process 1 of its own PID namespace, and libnl would take that for its port.
        let separate = ["unshare", "--pid", "--fork", "--kill-child", "--"]
        let monitors = try (0..<2).map { _ in try MonitorProcess(in: hosts.here, under: separate) }
        for monitor in monitors {
            #expect(await eventually { monitor.says(#""level":"routed""#, #""mode":"event""#) }, "\(monitor.last)")
        }
        try hosts.there.ip("link set p0 down")
        for monitor in monitors {
            #expect(await eventually { monitor.says(#""level":"none""#) }, "\(monitor.last)")
        }
    }

    @Test("A monitor without any privilege watches as well")
    func unprivileged() async throws {
        let hosts = try VethPairFixture()
        let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]
        let monitor = try MonitorProcess(in: hosts.here, under: nobody)
        #expect(await eventually { monitor.says(#""level":"routed""#, #""mode":"event""#) }, "\(monitor.last)")
        try hosts.there.ip("link set p0 down")
        #expect(await eventually { monitor.says(#""level":"none""#) }, "\(monitor.last)")
    }
}

/// A monitor in a process of its own, which prints a line whenever something changed.
private final class MonitorProcess: Sendable {
    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: BuiltProduct.path(of: "TidegateBench")) }
    static let need: Comment = "TidegateBench was not built with these tests"

    let program: Program

    init(in namespace: NetworkNamespace, under wrapper: [String] = []) throws {
        let bench = BuiltProduct.path(of: "TidegateBench")
        self.program = try Program(["ip", "netns", "exec", namespace.name] + wrapper + [bench, "watch"])
    }

    deinit {
        self.program.signal(SIGCONT)
        self.program.signal(SIGKILL)
    }

    /// What it said last.
    var last: String { self.program.outputSoFar.split(separator: "\n").last.map(String.init) ?? "" }

    /// True when all of it was in what it said last.
    func says(_ parts: String...) -> Bool {
        let last = self.last
        return parts.allSatisfy { last.contains($0) }
    }
}
