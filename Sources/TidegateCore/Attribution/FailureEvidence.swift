/// What is known about a failure: of an attempt, of a rung of a ladder, or of another program's connection.
package struct FailureEvidence: Sendable, Hashable {
    /// Why it failed.
    package var failure: TaskFailure
    /// What it was doing then; nil if that is not known.
    package var stage: Stage?
    /// The status, if one came.
    package var status: Int?
    /// How the socket failed, if it did.
    package var socketError: SocketError?
    /// The ICMP error that refused the connection, if one came.
    package var refusal: ICMPError?
    /// The address connected to; nil if there was none.
    package var peer: IPAddress?
    /// The local address; nil if the kernel had chosen none.
    package var local: IPAddress?
    /// Whether connect(2) itself failed.
    package var isImmediate = false
    /// How many first packets (SYN) went unanswered; 0 if that is not known.
    package var unanswered = 0
    /// Why the name gave no address, if it gave none.
    package var resolveFailure: ResolveFailure?
    /// What went wrong, in one clause; empty if it is not known.
    package var text = ""
    /// True if the server refused this host's certificate, or was shown none.
    package var lacksClientCertificate = false
    /// The proxy's answer to the requested connection; nil if it gave none.
    package var proxyAnswer: ProxyAnswer?
    /// The proxy that the attempt went through, without credentials; nil if it connected directly.
    package var proxy: String?
    /// The verdict when the attempt started.
    package var before: Verdict
    /// The verdict when it failed.
    package var after: Verdict
    /// The results of attempts to other hosts on the same path.
    package var peers = PeerEvidence()
    /// The gateway's state, by the latest diagnosis of the host or of this path.
    package var gateway = SilenceEvidence.Gateway.unknown
    /// What that diagnosis found beyond the gateway; empty if none was made lately.
    package var witnesses: [Witness] = []
    /// The earliest moment at which the silence can have begun; nil if that is not known.
    package var silentSince: MonotonicTime?
    /// True if gateway and witnesses are those of this path, and not of the host's default one.
    package var isOfThisPath = false
    /// The largest known packet that passes where larger ones are lost, in bytes; nil if none are known to be lost.
    package var fittingPacket: Int?
    /// The cause that this host's own tables, or the counters of a tunnel, show; nil if they show none.
    package var shown: Cause?

    // Only a diagnosis sets these.

    /// The rung that failed first.
    package var rung: Rung?
    /// The port connected to.
    package var port: UInt16?
    /// Why the kernel would not send.
    package var kernel: HostCause.KernelRefusal?
    /// What the name servers answered when they were asked one by one.
    package var lookup: LookupFailure?
    /// True if the name servers are on this host's own link, so that they ask others beyond the gateway.
    package var isForwarded = false
    /// True if this host would not send packets to the target (EPERM), because of a filter.
    package var isFiltered = false
    /// True if the target's port accepted a connection of a hop walk.
    package var isPortOpen = false
    /// True if routers answered UDP packets to the target, and none answered a TCP packet.
    package var isTCPLost = false
    /// How the internet checks fail.
    package var internet: InternetFailure?
    /// Why the certificate is not accepted.
    package var certificateError: CertificateError?
    /// The server's certificate.
    package var certificate: CertificateSummary?
    /// Why the handshake failed, if not for the certificate.
    package var handshake: HandshakeFailure?

    // Only observed connections set these.

    /// What the other remotes behind the same next hop show.
    package var remotes: RemotesEvidence?
    /// True if many remotes behind the same gateway reset connections at the same time.
    package var areManyReset = false
    /// True if the host's path changed less than a settle time ago.
    package var isSettling = false

    /// Evidence that has only the failure and what the kernel would do with a packet.
    package init(
        failure: TaskFailure, stage: Stage? = nil, peer: IPAddress? = nil, before: Verdict, after: Verdict
    ) {
        (self.failure, self.stage, self.peer) = (failure, stage, peer)
        (self.before, self.after) = (before, after)
    }

    /// The evidence with what a diagnosis of the host found, if one was made lately.
    package func adding(_ diagnosis: SilenceEvidence?) -> FailureEvidence {
        guard let diagnosis else { return self }
        var evidence = self
        (evidence.gateway, evidence.witnesses) = (diagnosis.gateway, diagnosis.witnesses)
        if (self.after.path ?? self.before.path)?.interface == diagnosis.link { evidence.shown = diagnosis.shown }
        return evidence
    }
}

/// The results of attempts to other hosts on the same path, as long as they count.
package struct PeerEvidence: Sendable, Hashable {
    /// Hosts that answered, and have not failed since.
    package var reached: Int
    /// Hosts that could not be reached, and have not answered since.
    package var missed: Int

    /// Counts of hosts.
    package init(reached: Int = 0, missed: Int = 0) {
        self.reached = reached
        self.missed = missed
    }
}

/// Why a name has no usable address, as the name servers say when they are asked one by one.
package enum LookupFailure: Sendable, Hashable {
    /// The name does not exist, says `server`; it `deniesOthers` if it denies a name that exists.
    case denied(String, by: IPAddress?, deniesOthers: Bool)
    /// The name exists without an address of the version.
    case noRecord(String, of: AddressFamily?)
    /// The servers do not answer.
    case silent([IPAddress])
    /// A server answers questions about other names.
    case silentAbout(String, by: IPAddress)
    /// A server answers with a failure.
    case fails(IPAddress?, code: String?)
    /// Nothing listens at the server's port.
    case refused(IPAddress)
    /// A server answers with an address that no public name has.
    case blocked(String, by: IPAddress?, answer: IPAddress)
    /// resolv.conf names no server.
    case noServer
    /// The address comes from the hosts file; DNS has others.
    case hostsFile(String, dns: [IPAddress])
}

/// How internet checks fail.
package enum InternetFailure: Sendable, Hashable {
    /// A captive portal answers, and redirects there if it says where.
    case portal(location: String?)
    /// They get no answer, or a wrong one.
    case failing
    /// Those of one server get no answer, or one that is neither the expected one nor a portal's.
    case oneServer
}

/// What the other remotes behind the same next hop show about a connection that hangs or failed.
package enum RemotesEvidence: Sendable, Hashable {
    /// Several hang, and none answers.
    case silent
    /// Others answer, but no remote of the same network does, and several of them hang.
    case silentNetwork
    /// Old connections go on, and new ones to several networks, which answered before, are not opened.
    case opensNone
    /// Others answer.
    case answering
    /// Nothing.
    case undecided
}

/// Why a proxy made no connection.
package enum ProxyAnswer: Sendable, Hashable {
    /// It does not let this host through, or not to that server.
    case denied
    /// It could not connect either.
    case failed
    /// No packets get from it to the server.
    case unreachable
    /// It does not say whether it failed, or the server.
    case unclear
}
