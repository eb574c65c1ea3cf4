package import TidegateCEL

/// What the probers `tcp` and `unix` say to a server, and what they take for a success.
package struct StreamProbeOptions: Sendable, Hashable {
    /// What is sent and expected, in order; empty if a connection is enough.
    package var dialogue: [Step] = []
    /// Whether the connection is encrypted from its beginning.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    package var family = FamilyPreference()
    package var source = ProbeSource()

    /// blackbox_exporter's defaults.
    package init() {}

    /// True if the connection is encrypted at some time.
    package var mayUseTLS: Bool { self.usesTLS || self.dialogue.contains { $0.startsTLS } }

    /// One entry of `query_response`: what is expected comes before what is sent, and TLS after that.
    package struct Step: Sendable, Hashable {
        /// Lines are read until one matches; nil reads none.
        package var expect: RegularExpression?
        /// The bytes that come next; empty reads none.
        package var expectedBytes: [UInt8] = []
        /// The line that is sent, with `${1}` for what ``expect`` matched; empty sends none.
        package var send = ""
        /// Whether a TLS handshake follows.
        package var startsTLS = false
        /// Labels of `probe_expect_info`, whose values are templates as ``send`` is.
        package var labels: [Label] = []

        /// A step that does nothing.
        package init() {}
    }

    /// A label of `probe_expect_info`.
    package struct Label: Sendable, Hashable {
        package var name: String
        package var value: String

        /// A label from its parts.
        package init(name: String = "", value: String = "") {
            self.name = name
            self.value = value
        }
    }
}
