internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket of libcurl's that is being connected.
struct ConnectAttempt {
    let transfer: CurlTransfer
    let attempt: AttemptID
    let address: IPAddress?
    /// When libcurl gives it up.
    let deadline: MonotonicTime
    /// Distinguishes the socket from a later one with the same number.
    let cookie: UInt64
    /// Whether the kernel gives it up before libcurl does (TCP_USER_TIMEOUT, tcp(7)).
    let hasShare: Bool
    /// Whether libcurl waits for it; if not, the kernel's answer came at once.
    var isWaiting = false
    /// Its state shortly before its end.
    var lastState: FailedConnect?

    /// Whether its attempt is still the transfer's.
    var isWanted: Bool { self.transfer.request?.value.id == self.attempt }

    /// Whether a descriptor is still this socket.
    func isOpen(_ descriptor: Int32) -> Bool { self.cookie != 0 && tg_socket_cookie(descriptor) == self.cookie }
}

/// One pool's sockets that are being connected, and what is known of each.
///
/// Only these have their ICMP errors put into their error queue. While a connection is being made the kernel gives up
/// at the first of them anyway (tcp_v4_err, tcp_v6_err), so that reading them fails no connect that would have
/// succeeded without; libcurl goes on with the next address as ever. An established connection survives ICMP errors
/// unless its queue is enabled: so that is disabled before its first byte.
struct ConnectingSockets {
    private var attempts: [Int32: ConnectAttempt] = [:]

    /// A socket was opened to be connected.
    mutating func opened(_ descriptor: Int32, _ attempt: ConnectAttempt) {
        self.attempts[descriptor] = attempt
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: true)
    }

    /// libcurl says what it waits for (CURL_POLL_*): only room to write until the socket is connected.
    mutating func interestChanged(_ descriptor: Int32, _ what: Int32) {
        guard !self.attempts.isEmpty else { return }
        switch what {
        case CURL_POLL_OUT: self.attempts[descriptor]?.isWaiting = true
        case CURL_POLL_IN, CURL_POLL_INOUT: self.connected(descriptor)
        default: break
        }
    }

    /// The socket is connected.
    mutating func connected(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor) else { return }
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: false)
        if attempt.hasShare {
            var timeout = CurlLimits.userTimeout
            _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, socklen_t(4))
        }
        if attempt.isWanted { attempt.transfer.didConnect(to: attempt.address) }
    }

    /// The socket is about to be closed; if it never was connected, its transfer is given the reason.
    mutating func closing(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor), attempt.isWanted
        else { return }
        attempt.transfer.connectFailed(ConnectingSockets.failure(of: descriptor, attempt))
    }

    /// Keeps the state of sockets that libcurl is about to give up because their time is over.
    ///
    /// libcurl closes a socket that has waited in vain without calling back.
    mutating func saveExpiring(at now: MonotonicTime) {
        for (descriptor, attempt) in self.attempts
        where attempt.deadline <= now + .milliseconds(5) && attempt.isOpen(descriptor) {
            self.attempts[descriptor]?.lastState = ConnectingSockets.failure(of: descriptor, attempt)
        }
    }

    /// Reports those of a transfer's tries that are still waiting, or were given up without a callback.
    func reportUnfinished(of transfer: CurlTransfer) {
        for (descriptor, attempt) in self.attempts where attempt.transfer === transfer && attempt.isWanted {
            let failure =
                attempt.isOpen(descriptor) ? ConnectingSockets.failure(of: descriptor, attempt) : attempt.lastState
            transfer.connectFailed(failure ?? FailedConnect(address: attempt.address))
        }
    }

    /// Forgets a transfer's tries once libcurl has; returns the sockets that were closed without a callback.
    mutating func forget(_ transfer: CurlTransfer) -> [Int32] {
        guard !self.attempts.isEmpty else { return [] }
        let over = self.attempts.filter { $0.value.transfer === transfer }.map(\.key)
        for descriptor in over { self.attempts[descriptor] = nil }
        return over
    }

    // If the kernel has no queue for it there is less to report, and nothing else is wrong.
    private static func receiveErrors(_ descriptor: Int32, _ attempt: ConnectAttempt, isOn: Bool) {
        guard let family = attempt.address?.family else { return }
        _ = tg_receive_errors(descriptor, family == .ipv4 ? AF_INET : AF_INET6, isOn ? 1 : 0)
    }

    private static func failure(of descriptor: Int32, _ attempt: ConnectAttempt) -> FailedConnect {
        var failure = FailedConnect(
            address: attempt.address, local: SocketName.localAddress(of: descriptor), isImmediate: !attempt.isWaiting)
        var info: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)
        let isKnown = withUnsafeMutableBytes(of: &info) {
            tg_tcp_info(descriptor, $0.assumingMemoryBound(to: UInt8.self).baseAddress) == 0
        }
        if isKnown { failure.retransmits = Int(info.2) }
        if let message = self.drainErrors(descriptor) {
            failure.refusal = message.refusal
            failure.errorNumber = message.errorNumber
        } else if !isKnown || info.0 != self.synSent {
            // While it waits, libcurl's error number is that of another try.
            failure.errorNumber = attempt.transfer.errorNumber
        }
        return failure
    }

    // TCP_SYN_SENT of <linux/tcp_states.h>.
    private static let synSent: UInt8 = 2

    private static func drainErrors(_ descriptor: Int32) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        var packet: UInt8 = 0
        // The bound holds if errors arrive faster than they are read.
        for _ in 0..<16 {
            var size = 1
            let count = tg_take_error(descriptor, &packet, &size, &control, control.count)
            guard count >= 0 else { break }
            last = ExtendedSocketError(control: Array(control.prefix(count))) ?? last
        }
        return last
    }
}
