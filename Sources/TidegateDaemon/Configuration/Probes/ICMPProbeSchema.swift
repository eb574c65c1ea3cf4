internal import TidegateProbes

/// The keys of a module's `icmp`.
enum ICMPProbeSchema {
    static let fields: [Field<ICMPProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        // The longest packet, less the headers of IPv4 and of ICMP.
        .value("payload_size", \.payloadSize, .number(in: 0...65_507)),
        .value("dont_fragment", \.forbidsFragments, .boolean),
        .value("ttl", \.hopLimit, .number(in: 0...255)),
    ]
}
