package import TidegateCore

/// Sends ICMP echo requests, as ping(8) does, each by a socket of its own.
///
/// One thread, `tg-echo`, waits for all answers; it starts with the first request.
package final class EchoClient: Sendable {
    /// One echo request.
    package struct Request: Sendable {
        /// Who is asked.
        package var socket: SocketRequest
        /// What the reply has to bring back.
        package var payload: [UInt8]
        /// How many routers it may pass; nil for this host's usual number.
        package var hopLimit: Int?
        /// Whether an IPv4 packet must stay whole.
        package var forbidsFragments = false

        /// A request that the kernel sends as it likes.
        package init(_ socket: SocketRequest, payload: [UInt8]) {
            self.socket = socket
            self.payload = payload
        }
    }

    /// What came back.
    package enum Result: Sendable, Hashable {
        /// The reply, and how many routers it could still have passed.
        case answered(hopLimit: Int?, after: Duration)
        /// Somebody on the way, or this host, refused it.
        case refused(ICMPError)
        /// The packet is longer than a link takes: a router's, or this host's own if `router` is nil.
        case tooLong(mtu: Int?, router: IPAddress?)
        /// Nothing came back in time.
        case silent
        /// This host could not send it.
        case failed(Failure)
    }

    /// Why this host could not send a request.
    package enum Failure: Error, Hashable {
        /// The group is not within `net.ipv4.ping_group_range`, and the process lacks CAP_NET_RAW.
        case notPermitted
        /// A step of it failed (errno(3)).
        case failed(operation: String, code: Int32)
    }

    /// A result, and what there was before it.
    package struct Outcome: Sendable, Hashable {
        package var result: Result
        /// How long the socket took to open.
        package var setup: Duration
        /// The address that was sent from; nil if there was none.
        package var local: IPAddress?
    }

    private let thread: ExchangeThread<EchoExchange>

    /// A client without a thread yet; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) {
        self.thread = ExchangeThread(name: "tg-echo", onStart: onThreadStart)
    }

    /// Sends a request and waits for what comes back.
    ///
    /// At most 1024 requests are under way at a time; further ones fail with `ENOBUFS` at once.
    package func send(_ request: Request) async -> Outcome {
        await self.thread.run(
            EchoExchange(request, id: .random(in: .min ... .max), sequence: .random(in: .min ... .max)))
    }

    /// Ends the requests under way as silent, then the thread.
    package func stop() { self.thread.stop() }
}
