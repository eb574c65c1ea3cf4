internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore

/// One epoch's sockets that are on their way to a connection, and what is known of each.
///
/// ICMP errors go to the error queue of these alone. While a connection is being made the kernel gives up at the first
/// of them anyway (tcp_v4_err, tcp_v6_err), so that listening costs no connect that would have come about without;
/// libcurl goes on with the next address as ever. An established connection survives them, unless it is listening: so
/// that ends before its first byte.
struct DialSockets {
    private var dials: [Int32: Dial] = [:]

    /// A socket was opened to be connected.
    mutating func opened(_ descriptor: Int32, _ dial: Dial) {
        self.dials[descriptor] = dial
        DialSockets.listen(descriptor, dial, isOn: true)
    }

    /// libcurl says what it waits for (CURL_POLL_*): nothing but room to write until the connection stands.
    mutating func wanted(_ descriptor: Int32, _ what: Int32) {
        guard !self.dials.isEmpty else { return }
        switch what {
        case CURL_POLL_OUT: self.dials[descriptor]?.isWaiting = true
        case CURL_POLL_IN, CURL_POLL_INOUT: self.connected(descriptor)
        default: break
        }
    }

    /// The connection stands.
    mutating func connected(_ descriptor: Int32) {
        guard !self.dials.isEmpty, let dial = self.dials.removeValue(forKey: descriptor) else { return }
        DialSockets.listen(descriptor, dial, isOn: false)
        if dial.isWanted { dial.slot.connected(to: dial.address) }
    }

    /// The socket is about to be closed; where it never became a connection, its slot is told why.
    mutating func closing(_ descriptor: Int32) {
        guard !self.dials.isEmpty, let dial = self.dials.removeValue(forKey: descriptor), dial.isWanted else { return }
        dial.slot.dials.ended(DialSockets.end(of: descriptor, dial))
    }

    /// libcurl may give up what has lasted too long: looks at it while it is there.
    ///
    /// libcurl closes a socket that has waited in vain without a word.
    mutating func look(at now: MonotonicTime) {
        for (descriptor, dial) in self.dials where dial.deadline <= now + .milliseconds(5) && dial.isOpen(descriptor) {
            self.dials[descriptor]?.seen = DialSockets.end(of: descriptor, dial)
        }
    }

    /// Tells a slot about those of its tries that are still waiting, or were given up without a word.
    func settle(_ slot: CurlTransfer) {
        for (descriptor, dial) in self.dials where dial.slot === slot && dial.isWanted {
            let end = dial.isOpen(descriptor) ? DialSockets.end(of: descriptor, dial) : dial.seen
            slot.dials.ended(end ?? DialEnd(address: dial.address))
        }
    }

    /// Forgets a slot's tries once libcurl has; the sockets that it closed without a word.
    mutating func forget(_ slot: CurlTransfer) -> [Int32] {
        guard !self.dials.isEmpty else { return [] }
        let over = self.dials.filter { $0.value.slot === slot }.map(\.key)
        for descriptor in over { self.dials[descriptor] = nil }
        return over
    }

    // Where the kernel has no queue for it there is less to tell, and nothing else is wrong.
    private static func listen(_ descriptor: Int32, _ dial: Dial, isOn: Bool) {
        guard let family = dial.address?.family else { return }
        _ = tg_receive_errors(descriptor, family == .ipv4 ? AF_INET : AF_INET6, isOn ? 1 : 0)
    }

    private static func end(of descriptor: Int32, _ dial: Dial) -> DialEnd {
        var end = DialEnd(address: dial.address, local: LocalAddress.of(descriptor), isImmediate: !dial.isWaiting)
        var info: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)
        let isKnown = withUnsafeMutableBytes(of: &info) {
            tg_tcp_info(descriptor, $0.assumingMemoryBound(to: UInt8.self).baseAddress) == 0
        }
        if isKnown { end.retransmits = Int(info.2) }
        if let message = self.drain(descriptor) {
            end.refusal = message.refusal
            end.errorNumber = message.errorNumber
        } else if !isKnown || info.0 != self.isSent {
            // While it waits, libcurl's error number is that of another try.
            end.errorNumber = Int32(truncatingIfNeeded: dial.slot.easy.long(CURLINFO_OS_ERRNO))
        }
        return end
    }

    // TCP_SYN_SENT of <linux/tcp_states.h>.
    private static let isSent: UInt8 = 2

    private static func drain(_ descriptor: Int32) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        // The bound holds where somebody sends errors faster than they are read.
        for _ in 0..<16 {
            let count = tg_take_error(descriptor, &control, control.count)
            guard count >= 0 else { break }
            last = ExtendedSocketError(control: Array(control.prefix(count))) ?? last
        }
        return last
    }
}

/// A socket of libcurl's that is on its way to a connection.
struct Dial {
    let slot: CurlTransfer
    let attempt: AttemptID
    let address: IPAddress?
    /// When libcurl gives it up.
    let deadline: MonotonicTime
    /// Tells the socket from another one that has its number.
    let cookie: UInt64
    /// Whether libcurl waits for it; where not, the kernel's answer came at once.
    var isWaiting = false
    /// How it stood shortly before its end.
    var seen: DialEnd?

    /// Whether its attempt is still the slot's.
    var isWanted: Bool { self.slot.request?.id == self.attempt }

    /// Whether a descriptor is still this socket.
    func isOpen(_ descriptor: Int32) -> Bool { self.cookie != 0 && tg_socket_cookie(descriptor) == self.cookie }
}
