/// How long a diagnosis waits for somebody silent.
enum SilenceTiming {
    /// Before others are asked.
    static let patience = Duration.milliseconds(300)
    /// Before the others' word is taken: the kernel has repeated a SYN (tcp(7)) and a request for a link-layer address
    /// (arp(7)) by then, so that it is no lost packet.
    static let certainty = Duration.milliseconds(1_500)
    /// For a TLS handshake with a server that accepts connections: three round trips over a satellite, or one packet
    /// that was lost and repeated.
    static let handshake = Duration.seconds(2)
    /// For a host that is not there: its last router says so after 3 s (RFC 1812, 3.3.2, and Linux).
    static let resolution = Duration.milliseconds(3_400)
}
