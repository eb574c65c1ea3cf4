internal import TidegateCore
internal import TidegateNetwork

/// The two sockets: one receives messages about closed sockets, one lists live sockets.
struct ObservationSockets {
    // How many messages are read before the clock is checked.
    private static let burst = 20_000

    let configuration: ConnectionsConfiguration
    let options: NetlinkOptions
    private(set) var endings: SocketEndingChannel?
    private(set) var dumps: SocketDumpChannel?
    /// Why the socket for messages, once opened, stopped working; nil if it works.
    private(set) var endingsFailure: String?
    // The inodes of all listeners, and those of this program's own listeners.
    private(set) var listedInodes: Set<UInt32> = []
    private(set) var ownInodes: Set<UInt32> = []

    var endingsDescriptor: Int32? { self.endings?.descriptor }
    var receiveBufferBytes: Int { self.endings?.receiveBufferBytes ?? 0 }
    /// The number of messages dropped since the socket was opened.
    var dropCount: UInt32 { self.endings?.dropCount ?? 0 }

    /// Opens the socket for messages; returns the reason if that fails.
    mutating func openEndings() -> String? {
        var options = self.options
        options.receiveBufferBytes = self.configuration.receiveBufferBytes
        do throws(NetlinkError) {
            // Loopback is included, because the kernel's counters include it and are compared.
            self.endings = try SocketEndingChannel(options, includesLoopback: true)
            self.endingsFailure = nil
            return nil
        } catch {
            self.endings = nil
            return error.description
        }
    }

    /// Reads the waiting messages and returns their number.
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

    /// Lists sockets of both families; returns the error if one is refused.
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

    /// The inodes of this program's own sockets among all listeners; its descriptors are only scanned when the
    /// listeners have changed.
    mutating func ownInodes(of reports: [SocketReport]) -> Set<UInt32> {
        let listed = Set(reports.map(\.inode))
        if listed != self.listedInodes { self.ownInodes = SocketPrograms.ownInodes().intersection(listed) }
        self.listedInodes = listed
        return self.ownInodes
    }

    /// Stops the messages by leaving the groups.
    ///
    /// If that is refused, messages keep arriving, and excess ones are counted as lost.
    mutating func leave() { try? self.endings?.leave() }

    /// Resumes the messages.
    mutating func rejoin() {
        do throws(NetlinkError) { try self.endings?.join() } catch { self.close(after: error) }
    }
}
