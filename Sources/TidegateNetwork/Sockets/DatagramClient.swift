internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Sends UDP datagrams and waits for an answer to each, on a socket of its own.
///
/// ICMP errors end an exchange immediately. One thread, `tg-datagram`, waits for all answers; it starts with the first
/// exchange.
package final class DatagramClient: Sendable {
    /// The result of an exchange.
    package enum Result: Sendable, Hashable {
        /// An answer arrived.
        case answered([UInt8])
        /// A router on the way, or this host's own stack, refused the datagram; with the error number (errno(3)) and
        /// the local address.
        case refused(ICMPError, code: Int32, local: IPAddress?)
        /// No answer arrived in time.
        case silent
        /// This host could not send the datagram (errno(3)).
        case failed(Int32)
    }

    private let thread = ExchangeThread<DatagramExchange>(name: "tg-datagram")

    /// Creates a client without a thread.
    package init() {}

    /// Sends a datagram and waits for the first datagram from its destination that `isAnswer` accepts.
    ///
    /// At most 1024 exchanges are open at a time; further ones immediately fail with `ENOBUFS`.
    ///
    /// - Parameters:
    ///   - whenSent: Called once, when the datagram has been sent.
    ///   - isAnswer: Called on the client's thread.
    package func exchange(
        _ payload: [UInt8], _ request: SocketRequest, whenSent: @escaping @Sendable () -> Void,
        isAnswer: @escaping @Sendable ([UInt8]) -> Bool
    ) async -> Result {
        await self.thread.run(
            DatagramExchange(request: request, payload: payload, whenSent: whenSent, isAnswer: isAnswer))
    }
}

private struct DatagramExchange: SocketExchange {
    let request: SocketRequest
    let payload: [UInt8]
    let whenSent: @Sendable () -> Void
    let isAnswer: @Sendable ([UInt8]) -> Bool

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.limit }

    func open(at _: MonotonicTime) throws(LoopError) -> Int32 {
        try self.request.open(SOCK_DGRAM, sending: self.payload)
    }

    func begin(_: Int32, at _: MonotonicTime) -> ExchangeStep<DatagramClient.Result> {
        self.whenSent()
        return .wait
    }

    func ready(
        _ descriptor: Int32, into buffer: inout [UInt8], at _: MonotonicTime
    ) -> ExchangeStep<DatagramClient.Result> {
        // Bounded, in case datagrams arrive faster than this reads them.
        for _ in 0..<64 {
            if let error = Self.nextError(of: descriptor) { return .over(error) }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else {
                let code = errno
                if [EAGAIN, EINTR].contains(code) { return .wait }
                // The error arrived after the queue was read.
                if let error = Self.nextError(of: descriptor) { return .over(error) }
                if code == EMSGSIZE { continue }
                return .over(.failed(code))
            }
            let bytes = Array(buffer.prefix(count))
            if self.isAnswer(bytes) { return .over(.answered(bytes)) }
        }
        return .wait
    }

    // The error queue's result for the datagram; nil if the queue is empty.
    private static func nextError(of descriptor: Int32) -> DatagramClient.Result? {
        // A smaller path MTU does not end the exchange: the kernel fragments longer datagrams.
        let error = ErrorQueue.drain(descriptor) { error, _ in error.errorNumber != EMSGSIZE }
        return error.map {
            .refused($0.refusal, code: $0.errorNumber, local: SocketAddress.local(of: descriptor))
        }
    }

    func outcome(of failure: LoopError?) -> DatagramClient.Result { failure.map { .failed($0.code) } ?? .silent }
}
