// Queue disciplines of ns-3 with drawn arrivals in front of a link: which packets
// are dropped (d) and marked (m), by their numbers.
//
// The queue is asked whenever the link has sent a packet, without a device between them, which would hold packets of
// its own. The arrivals of a case are drawn by the generator below, as in crates/model-tests/tests/queues.rs.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <map>

using namespace ns3;

struct Draws
{
    uint64_t state;

    uint64_t below(uint64_t bound)
    {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state >> 33) % bound;
    }
};

struct Bench
{
    Ptr<QueueDisc> queue;
    uint64_t rate;
    bool busy = false;
    std::map<uint64_t, uint32_t> numbers; // of packets, by their identifiers
    std::vector<char> fates;

    void next()
    {
        Ptr<QueueDiscItem> item = queue->Dequeue();
        busy = item != nullptr;
        if (busy)
        {
            auto ip = DynamicCast<Ipv4QueueDiscItem>(item);
            if (ip->GetHeader().GetEcn() == Ipv4Header::ECN_CE)
            {
                fates[numbers.at(item->GetPacket()->GetUid())] = 'm';
            }
            Simulator::Schedule(NanoSeconds(uint64_t(item->GetSize()) * 8 * 1000000000ULL / rate), &Bench::next, this);
        }
    }

    void push(uint32_t number, uint32_t flow, uint32_t size, bool ecn)
    {
        Ptr<Packet> packet = Create<Packet>(size - 28);
        UdpHeader udp;
        udp.SetSourcePort(1000 + flow);
        udp.SetDestinationPort(9);
        packet->AddHeader(udp);
        numbers[packet->GetUid()] = number;
        Ipv4Header header;
        header.SetSource(Ipv4Address("10.0.0.1"));
        header.SetDestination(Ipv4Address("10.0.0.2"));
        header.SetProtocol(17);
        header.SetPayloadSize(packet->GetSize());
        header.SetEcn(ecn ? Ipv4Header::ECN_ECT0 : Ipv4Header::ECN_NotECT);
        queue->Enqueue(Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, header));
        if (!busy)
        {
            next();
        }
    }

    void dropped(Ptr<const QueueDiscItem> item)
    {
        fates[numbers.at(item->GetPacket()->GetUid())] = 'd';
    }
};

static void
run(const std::string& discipline, uint32_t number)
{
    Draws draws{number + 1};
    Bench bench;
    bench.rate = 1000000 * (1 + draws.below(10));
    uint64_t flows = 1 + draws.below(4);
    bool ecn = draws.below(2) == 1;
    if (discipline == "codel")
    {
        bench.queue = CreateObjectWithAttributes<CoDelQueueDisc>("MaxSize", StringValue("1000p"), "UseEcn", BooleanValue(ecn));
    }
    else
    {
        auto queue = CreateObjectWithAttributes<FqCoDelQueueDisc>("UseEcn", BooleanValue(ecn));
        queue->SetQuantum(1514);
        bench.queue = queue;
    }
    bench.queue->TraceConnectWithoutContext("Drop", MakeCallback(&Bench::dropped, &bench));
    bench.queue->Initialize();
    const uint32_t packets = 1500;
    bench.fates.assign(packets, '.');
    uint64_t at = 0;
    uint64_t load = 0;
    for (uint32_t k = 0; k < packets; k++)
    {
        if (k % 300 == 0)
        {
            load = 5 + 5 * draws.below(4); // tenths of the rate: 0.5 to 2
        }
        uint32_t size = 100 + draws.below(1400);
        uint32_t flow = draws.below(flows);
        // 800 bytes on average.
        uint64_t mean = 800 * 8 * 1000000000ULL / bench.rate * 10 / load;
        at += draws.below(2 * mean);
        Simulator::Schedule(NanoSeconds(at), &Bench::push, &bench, k, flow, size, ecn);
    }
    Simulator::Run();
    Simulator::Destroy();
    const char* space = "";
    for (uint32_t k = 0; k < packets; k++)
    {
        if (bench.fates[k] != '.')
        {
            std::printf("%s%c%u", space, bench.fates[k], k);
            space = " ";
        }
    }
    std::printf("\n");
}

int
main(int argc, char* argv[])
{
    std::string discipline = "codel";
    uint32_t number = 0;
    CommandLine command;
    command.AddValue("discipline", "codel or fq_codel", discipline);
    command.AddValue("case", "the number of the case", number);
    command.Parse(argc, argv);
    run(discipline, number);
}
