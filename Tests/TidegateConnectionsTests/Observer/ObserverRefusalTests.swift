import Synchronization
import Testing
import TidegateConnections
import TidegateCore
import TidegateLoop
import TidegateNetwork
import TidegateTestKit

/// The messages if the kernel or a sandbox refuses something.
struct ObserverRefusalTests {
    private static func observer(
        refusing refused: [NetlinkOptions.SocketKind: NetlinkError]
    ) throws -> (observer: ConnectionObserver, namespace: NetworkNamespace) {
        let namespace = try NetworkNamespace("o")
        var options = NetlinkOptions()
        options.onThreadStart = { namespace.enter() }
        options.refusal = { refused[$0] }
        let observer = try ConnectionObserver(
            ConnectionsConfiguration(), options: options, ConnectionObserver.Environment(time: SystemClock()))
        return (observer, namespace)
    }

    private static let denied = NetlinkError(operation: "opening a netlink socket", errno: 13)
    private static let missing = NetlinkError(operation: "listing sockets", errno: 2)

    @Test(
        "The mode and its reason say what is refused",
        .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
        arguments: [
            ([:], ObservationMode.event, nil),
            ([.socketEndings: denied], .poll, "opening a netlink socket: Permission denied"),
            ([.socketDumps: denied], .eventsOnly, "opening a netlink socket: Permission denied"),
            ([.socketDumps: missing], .counters, "listing sockets: No such file or directory"),
            ([.announcements: denied], .event, "opening a netlink socket: Permission denied"),
            (
                [.socketEndings: denied, .socketDumps: denied], .counters,
                "opening a netlink socket: Permission denied"
            ),
        ] as [([NetlinkOptions.SocketKind: NetlinkError], ObservationMode, String?)])
    func mode(
        _ refused: [NetlinkOptions.SocketKind: NetlinkError], _ mode: ObservationMode, _ reason: String?
    ) async throws {
        let (observer, namespace) = try Self.observer(refusing: refused)
        defer { observer.stop() }
        let report = await observer.report()
        #expect(report.mode == mode)
        #expect(report.reason == reason)
        #expect(observer.statistics.mode == mode)
        // The kernel's counters move in every mode.
        let isRead = await eventually { observer.statistics.kernel != nil }
        #expect(isRead, "\(namespace.name)")
    }
}
