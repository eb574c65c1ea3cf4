internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The socket on which the live sockets of a network namespace are listed.
package final class SocketDumpChannel {
    private static let timeoutSeconds = 2

    private let options: NetlinkOptions
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// A channel.
    ///
    /// - Throws: What the kernel or a sandbox refuses.
    package init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.options = options
        self.socket = try Self.open(options)
    }

    private static func open(_ options: NetlinkOptions) throws(NetlinkError) -> NetlinkSocket {
        if let refusal = options.refusal(.socketDumps) { throw refusal }
        let socket = try NetlinkSocket.connected(
            .socketDumps, options, bufferBytes: 1 << 20, protocol: SocketEndingChannel.protocolNumber)
        socket.setQueryOptions(timeoutSeconds: Self.timeoutSeconds)
        return socket
    }

    /// Lists sockets; one may be missing or come twice while others come and go.
    ///
    /// - Throws: What the kernel refuses, such as a kernel without the part that lists sockets (ENOENT).
    package func dump(_ request: SocketDump, _ body: (SocketReport) -> Void) throws(NetlinkError) {
        self.sequence &+= 1
        let (sequence, operation) = (self.sequence, "listing sockets")
        let message = request.message(sequence: sequence)
        var problem: NetlinkError?
        message.withUnsafeBytes { bytes in
            do throws(NetlinkError) { try self.socket.send(bytes) } catch { problem = error }
        }
        if let problem { throw problem }
        var isDone = false
        while !isDone {
            let received = self.socket.receive { bytes in
                SocketMessageDecoder.decode(bytes) { number, message in
                    guard number == sequence else { return }
                    switch message {
                    case .socket(let report): body(report)
                    case .done(let code), .refused(let code):
                        isDone = true
                        if code != 0 { problem = NetlinkError(operation: operation, errno: code) }
                    case .ignored, .malformed: break
                    }
                }
            }
            switch received {
            case .datagram, .foreign: continue
            case .nothing: problem = NetlinkError(operation: operation, text: "no answer in time")
            case .overrun, .truncated: problem = NetlinkError(operation: operation, text: "a part of the list was lost")
            case .failed(let error): problem = error
            }
            // The kernel still holds the rest of this list for the socket.
            self.socket = try Self.open(self.options)
            isDone = true
        }
        if let problem { throw problem }
    }
}
