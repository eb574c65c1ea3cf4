import TidegateProbes

/// The options of a module's prober; nil for one of another prober.
extension ProbeModule {
    var http: HTTPProbeOptions? { if case .http(let options) = self.prober { options } else { nil } }
    var icmp: ICMPProbeOptions? { if case .icmp(let options) = self.prober { options } else { nil } }
    var dns: DNSProbeOptions? { if case .dns(let options) = self.prober { options } else { nil } }
    var tcp: StreamProbeOptions? { if case .tcp(let options) = self.prober { options } else { nil } }
    var unix: StreamProbeOptions? { if case .unix(let options) = self.prober { options } else { nil } }
    var grpc: GRPCProbeOptions? { if case .grpc(let options) = self.prober { options } else { nil } }
    var websocket: WebSocketProbeOptions? { if case .websocket(let options) = self.prober { options } else { nil } }
}
