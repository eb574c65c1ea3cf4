package import TidegateCore

// What the product fills in step by step, a test writes in one expression.

extension PhaseDurations {
    package init(
        resolve: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil, processing: Duration? = nil,
        transfer: Duration? = nil, sending: Duration? = nil
    ) {
        self.init()
        (self.resolve, self.connect, self.tls) = (resolve, connect, tls)
        (self.processing, self.transfer, self.sending) = (processing, transfer, sending)
    }
}

extension ConnectionsReport {
    package init(
        mode: ObservationMode = .off, reason: String? = nil, remotes: [RemoteReport] = [], dropped: UInt64 = 0,
        unexplained: UInt64 = 0
    ) {
        self.init()
        (self.mode, self.reason, self.remotes) = (mode, reason, remotes)
        (self.dropped, self.unexplained) = (dropped, unexplained)
    }
}

extension ScheduledProbe {
    package init(name: String, module: String = "", target: String = "", every: Duration = .zero, jitter: Double = 0.1)
    {
        self.init()
        (self.name, self.module, self.target) = (name, module, target)
        (self.every, self.jitter) = (every, jitter)
    }
}

extension ReachabilityStatus.Health {
    package init(overruns: UInt64 = 0, resyncs: UInt64 = 0, isConsistent: Bool, receiveBufferBytes: Int = 0) {
        self.init()
        (self.overruns, self.resyncs) = (overruns, resyncs)
        (self.isConsistent, self.receiveBufferBytes) = (isConsistent, receiveBufferBytes)
    }
}
