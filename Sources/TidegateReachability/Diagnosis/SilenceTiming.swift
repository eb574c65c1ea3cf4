/// How long a diagnosis waits for somebody silent.
enum SilenceTiming {
    /// Before others are asked.
    static let patience = Duration.milliseconds(300)
    /// Before the others' word is taken: the kernel has repeated a SYN by then (tcp(7)), so that it is no lost packet.
    static let certainty = Duration.milliseconds(1_500)
    /// For a neighbour that is not there: it is given up after 3 s, here and on routers.
    static let resolution = Duration.milliseconds(3_400)
}
