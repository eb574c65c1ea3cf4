internal import TidegateCore
internal import TidegateNetwork

/// The two sockets: messages about sockets that end, and lists of the live ones.
struct ObservationSockets {
    // Between two looks at the clock.
    private static let burst = 20_000

    private let configuration: ConnectionsConfiguration
    private let options: NetlinkOptions
    private var endings: SocketEndingChannel?
    private var dumps: SocketDumpChannel?
    /// Why the socket for messages, once opened, does not work any more; nil if it does.
    private(set) var endingsFailure: String?
    // The inodes of all listeners, and of those that are this program's own.
    private var listedInodes: Set<UInt32> = []
    private var ownInodes: Set<UInt32> = []

    init(_ configuration: ConnectionsConfiguration, _ options: NetlinkOptions) {
        self.configuration = configuration
        self.options = options
    }

    var endingsDescriptor: Int32? { self.endings?.descriptor }
    var receiveBufferBytes: Int { self.endings?.receiveBufferBytes ?? 0 }
    /// Messages that were dropped since the socket was opened.
    var dropCount: UInt32 { self.endings?.dropCount ?? 0 }

    /// Opens the socket for messages; why not, if that is refused.
    mutating func openEndings() -> String? {
        var options = self.options
        options.receiveBufferBytes = self.configuration.receiveBufferBytes
        do throws(NetlinkError) {
            // Loopback is read, too: what the kernel counts has it, and is compared.
            self.endings = try SocketEndingChannel(options, includesLoopback: true)
            self.endingsFailure = nil
            return nil
        } catch {
            self.endings = nil
            return error.description
        }
    }

    /// Reads the messages that are there; how many there were.
    mutating func readEndings(_ body: (SocketReport) -> Void) -> Int {
        guard let endings = self.endings else { return 0 }
        var count = 0
        do throws(NetlinkError) {
            while count < Self.burst, try endings.receive({ if case .socket(let report) = $0 { body(report) } }) {
                count += 1
            }
        } catch {
            self.close(after: error)
        }
        return count
    }

    private mutating func close(after error: NetlinkError) {
        self.endingsFailure = error.description
        self.endings = nil
    }

    /// Lists sockets of both families; what is refused, if anything.
    mutating func list(_ states: SocketDump.States, _ body: (SocketReport) -> Void) -> NetlinkError? {
        do throws(NetlinkError) {
            let channel = try self.openDumps()
            for family in AddressFamily.allCases {
                try channel.dump(SocketDump(family, states, asksForInfo: states != .listeners), body)
            }
            return nil
        } catch {
            self.dumps = nil
            return error
        }
    }

    private mutating func openDumps() throws(NetlinkError) -> SocketDumpChannel {
        if let dumps = self.dumps { return dumps }
        let dumps = try SocketDumpChannel(self.options)
        self.dumps = dumps
        return dumps
    }

    /// The inodes of this program's own sockets among all listeners; its descriptors are only looked at when there are
    /// others than before.
    mutating func ownInodes(of reports: [SocketReport]) -> Set<UInt32> {
        let listed = Set(reports.map(\.inode))
        if listed != self.listedInodes { self.ownInodes = SocketPrograms.ownInodes().intersection(listed) }
        self.listedInodes = listed
        return self.ownInodes
    }

    /// Has no more messages come.
    ///
    /// Where that is refused, they come on, and those that are too many are counted as lost.
    mutating func leave() { try? self.endings?.leave() }

    /// Has messages come again.
    mutating func rejoin() {
        do throws(NetlinkError) { try self.endings?.join() } catch { self.close(after: error) }
    }
}
