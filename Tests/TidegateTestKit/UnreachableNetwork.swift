/// The network 203.0.113.0/24, where every connect is answered with "host unreachable" (RFC 792).
///
/// The answer comes 50 ms later: a connect that is answered at once has failed before connect(2) returns.
package enum UnreachableNetwork {
    private static let router = """
        import fcntl, os, struct, subprocess, time
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, 0x400454ca, struct.pack("16sH22s", b"t0", 0x1001, b""))
        subprocess.run(["ip", "link", "set", "t0", "up"], check=True)
        subprocess.run(["ip", "route", "add", "203.0.113.0/24", "dev", "t0"], check=True)
        def checksum(data):
            total = sum(struct.unpack(f">{len(data) // 2}H", data))
            while total >> 16: total = (total & 0xffff) + (total >> 16)
            return struct.pack(">H", ~total & 0xffff)
        print("routing", flush=True)
        while True:
            packet = os.read(device, 2000)
            if packet[0] >> 4 != 4 or packet[9] != 6: continue
            time.sleep(0.05)
            message = b"\\x03\\x01\\0\\0\\0\\0\\0\\0" + packet[:28]
            message = message[:2] + checksum(message) + message[4:]
            header = struct.pack(
                ">BBHHHBBH4s4s", 0x45, 0, 20 + len(message), 0, 0, 64, 1, 0, packet[16:20], packet[12:16])
            header = header[:10] + checksum(header) + header[12:]
            os.write(device, header + message)
        """

    /// Starts the program that answers, on a router; the network is there when this returns, until the program ends.
    package static func start(behind router: NetworkNamespace) async throws -> Program {
        let program = try Program(["ip", "netns", "exec", router.name, "python3", "-c", self.router])
        guard await eventually({ program.outputSoFar.contains("routing") }) else {
            throw Program.NotStarted(description: "no route to an unreachable network: \(program.errorsSoFar)")
        }
        return program
    }
}
